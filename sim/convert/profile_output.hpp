#pragma once
// The options that every import of a profile has for the trace that it writes, and the output after its
// account.

#include "cli/commands.hpp"
#include "cli/page_options.hpp"
#include "document/document.hpp"
#include "experiment/resolve.hpp"
#include "imports/profile_trace.hpp"

#include <nlohmann/json_fwd.hpp>
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

/// Prints the warnings and writes the trace. Throws FileError, or InputError if no trace can hold its
/// content.
void write_profile_trace(const Profile& profile, const ImportedTrace& imported,
                         const ProfileTraceOptions& options);

/// The keys of an experiment that the profile of the trace decides: accumulation, and the stack's treatment
/// of gradients and buffers.
Overrides replay_settings(const ImportedTrace& imported);

/// Names the written file, and the command that runs it on a platform with the profile's GPU.
void print_next_command(const Profile& profile, const ImportedTrace& imported, const std::string& file);

/// All of this, with the account between: `page`, or JSON with the fields of `extra`. As text a note may
/// follow.
void finish_import(const Profile& profile, const ProfileWork& work, const ImportedTrace& imported,
                   const ProfileTraceOptions& options, const doc::Document& page,
                   const nlohmann::ordered_json& extra, const std::string& note = {});

}  // namespace trainyard
