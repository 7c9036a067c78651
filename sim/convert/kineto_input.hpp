#pragma once
// The profiles of PyTorch that a command reads, and the options that say how: of `import kineto` and
// `validate-trace`.

#include "cli/commands.hpp"
#include "imports/joined_ranks.hpp"
#include "imports/profile_work.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct KinetoInput {
  std::vector<std::string> files;
  std::optional<std::string> step_range, device, rank, ranks_per_node;
  bool allow_truncated = false;
};

/// Adds FILE... and these options. `input` must live as long as the command.
void add_kineto_input(CLI::App& command, KinetoInput& input);

/// A profile whose launches are joined with its work.
struct JoinedProfile {
  Profile profile;
  ProfileWork work;
};

/// The joined profiles of all ranks, and the profile of the rank whose step becomes the trace.
struct JobProfiles {
  JoinedProfile traced;
  std::optional<JoinedRanks> ranks = {};  ///< of several files
  std::size_t place = 0;                  ///< of the traced rank among them
};

/// Reads the files. Throws CLI::ValidationError for options that do not fit them; InputError and FileError as
/// read_kineto(), join_launches() and join_ranks() do.
JobProfiles read_job(const KinetoInput& input);

}  // namespace trainyard
