#pragma once
// The commands of the other programs, which `trainyard` starts as git does, so that users see one command.
// Their words and descriptions are here, because the help of `trainyard` lists them too; the rest is in those
// programs.

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <string_view>

namespace trainyard {

struct OtherCommand {
  std::string_view words;    ///< "validate", "init platform"
  std::string_view program;  ///< file in the folder of `trainyard`
  const char* text;
};

inline constexpr OtherCommand validate_command{
    "validate", "trainyard-lab",
    "compare predictions with published measurements: training runs and collectives"};
inline constexpr OtherCommand calibrate_command{
    "calibrate", "trainyard-lab", "fit GPU profiles, hosts, stacks and NCCL's constants to measurements"};
inline constexpr OtherCommand validate_trace_command{
    "validate-trace", "trainyard-convert",
    "compare the step of a profile of torch.profiler with simulations of it, part by part and op by op"};
inline constexpr OtherCommand import_command{"import", "trainyard-convert",
                                             "read what another tool recorded: a trace, or measurements"};
inline constexpr OtherCommand export_command{"export", "trainyard-convert",
                                             "write a result in the form of another tool"};
inline constexpr OtherCommand init_platform_command{
    "init platform", "trainyard-convert",
    "write the platform of your cluster, from what programs print on one of its nodes"};

inline constexpr std::array other_commands{validate_command, calibrate_command, validate_trace_command,
                                           import_command,   export_command,    init_platform_command};

/// Adds the command, without its options, to the program or the command above it.
CLI::App& add_command(CLI::App& parent, const OtherCommand& command);

/// add_command() as a function of a table of commands.
template <const OtherCommand& command>
void add_other(CLI::App& program) {
  add_command(program, command);
}

/// The command that the first words of a command line name, null if it is one of `trainyard` itself. In
/// shell completion the last word does not count: it is still being typed.
const OtherCommand* other_command(int argc, const char* const* argv);

/// The command of these words; null if it is one of `trainyard` itself.
const OtherCommand* other_command(std::string_view words);

/// Replaces this process by the command's program, with the same arguments. Returns only if it cannot be
/// started: exit_file, after printing why.
int start(const OtherCommand& command, char* const* argv);

/// The text that the command's program prints for the manual page. Throws FileError if it prints none.
std::string manual_section_of(const OtherCommand& command);

}  // namespace trainyard
