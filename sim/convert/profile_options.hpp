#pragma once
// The options that every import of a profile has for the trace that it writes.

#include "cli/commands.hpp"
#include "cli/page_options.hpp"
#include "imports/profile_trace.hpp"

#include <optional>
#include <string>

namespace trainyard {

struct ProfileTraceOptions {
  std::string out;
  std::optional<std::string> batch;
  bool host_gaps = false, without_collectives = false;
  PageOptions page{.html = {}, .has_other_files = true};  ///< of the account
};

/// Adds -o and these options. `options` must live as long as the command.
void add_profile_trace_options(CLI::App& command, ProfileTraceOptions& options);

/// The options of an import. Throws CLI::ValidationError for a batch that is no number.
ImportOptions import_options(const ProfileTraceOptions& options,
                             const std::optional<std::string>& step_range);

}  // namespace trainyard
