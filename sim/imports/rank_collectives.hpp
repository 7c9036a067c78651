#pragma once
// The collectives of one rank's profile: the only part that is kept when the ranks of a job are joined, so
// that one profile at a time is in memory.

#include "collectives/operation.hpp"
#include "imports/profile_work.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A kernel that communicates.
struct RankCollective {
  std::string group = {};  ///< its name and its members, as far as the profile says them
  std::string what = {};   ///< the operation's name, or the kernel's
  std::optional<Operation> operation = {};
  double bytes = 0;                 ///< of the rank's input; 0 if unknown
  int group_size = 0;               ///< 0 if unknown
  std::int64_t start = 0, end = 0;  ///< ns
};

/// The collectives of a step, in the order of their launches.
struct RankStep {
  int number = 0;  ///< 0 for a profile without steps
  std::vector<RankCollective> collectives;
};

struct RankProfile {
  std::string file;  ///< without folders
  std::string host;  ///< that the file's name begins with, if it is one of the profiler's own names
  std::optional<int> rank = {}, ranks = {};
  std::int64_t computing = 0;  ///< ns of a step, the median
  bool has_steps = false;
  std::vector<RankStep> steps;
  int messages = 0;                           ///< between two ranks, which are left out
  std::vector<std::vector<int>> groups = {};  ///< of some ranks, as far as the profile says who is in them
};

RankProfile rank_profile_of(const Profile& profile, const ProfileWork& work);

}  // namespace trainyard
