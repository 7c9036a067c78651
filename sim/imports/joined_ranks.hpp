#pragma once
// Joins the profiles of a job's ranks. NCCL's kernels last until the slowest rank has come, so
// that only all ranks together say how long a collective transferred and how long ranks waited inside of it.

#include "imports/rank_collectives.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct JoinOptions {
  std::optional<int> ranks_per_node = {};  ///< that share a clock; else those of a host, or all
};

/// Collectives of one operation, in a step of the job. Times in ns, means over the steps.
struct JoinedOperation {
  std::string what;
  double count = 0;           ///< of a rank that takes part, the mean
  double bytes = 0;           ///< of a rank's inputs; 0 if any is unknown
  std::int64_t kernels = 0;   ///< of a rank: from its start to its end, summed
  std::int64_t transfer = 0;  ///< from the last rank's start to the last end, summed
  std::int64_t waiting = 0;   ///< of a rank: from its start to the last rank's, summed
};

struct JoinedRank {
  int rank = 0;
  std::string file;
  std::int64_t computing = 0;  ///< ns of a step
  std::int64_t kernels = 0;    ///< ns of its kernels that communicate
  std::int64_t waiting = 0;    ///< ns of these before the last rank began
  std::int64_t shift = 0;      ///< ns added to its clock
};

struct JoinedRanks {
  std::vector<JoinedRank> ranks;            ///< in order
  std::optional<int> world;                 ///< ranks of the job, if the profiles say it
  std::vector<int> steps;                   ///< numbers of those compared; empty: the profiles have none
  std::vector<JoinedOperation> operations;  ///< by name
  int clocks = 1;
  std::int64_t alignment_error = 0;  ///< ns by which aligned ends still differ, median; of several clocks
  std::vector<std::string> notes;
  std::vector<std::vector<int>> groups;  ///< of some ranks, each once

  /// Index of the rank that computes longest: the others wait for it.
  [[nodiscard]] std::size_t slowest() const;
};

/// The i-th collective of a group on every rank is one. Throws InputError if ranks are the same, world sizes
/// or sequences of collectives differ, naming the first difference, or no step is in all profiles.
JoinedRanks join_ranks(std::vector<RankProfile> profiles, const JoinOptions& options = {});

}  // namespace trainyard
