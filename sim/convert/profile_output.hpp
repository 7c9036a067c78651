#pragma once
// What every import of a profile writes after its account.

#include "convert/profile_options.hpp"
#include "experiment/resolve.hpp"

#include <string>

namespace trainyard {

/// Prints the warnings and writes the trace. Throws FileError, or InputError if it holds what no trace can.
void write_profile_trace(const Profile& profile, const ImportedTrace& imported,
                         const ProfileTraceOptions& options);

/// The keys of an experiment that the profile of the trace decides: accumulation, and what the stack does
/// with gradients and buffers.
Overrides replay_settings(const ImportedTrace& imported);

/// Says what was written, and the command that runs it on a platform with the profile's GPU.
void print_next_command(const Profile& profile, const ImportedTrace& imported, const std::string& file);

}  // namespace trainyard
