#pragma once
// The output of every import of a profile after its account.

#include "convert/profile_options.hpp"
#include "experiment/resolve.hpp"

#include <string>

namespace trainyard {

/// Prints the warnings and writes the trace. Throws FileError, or InputError if no trace can hold its
/// content.
void write_profile_trace(const Profile& profile, const ImportedTrace& imported,
                         const ProfileTraceOptions& options);

/// The keys of an experiment that the profile of the trace decides: accumulation, and the stack's treatment
/// of gradients and buffers.
Overrides replay_settings(const ImportedTrace& imported);

/// Names the written file, and the command that runs it on a platform with the profile's GPU.
void print_next_command(const Profile& profile, const ImportedTrace& imported, const std::string& file);

}  // namespace trainyard
