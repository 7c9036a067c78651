#pragma once
// The command line of the programs (commands/, convert/, lab/): selects the command and turns its outcome
// into an exit code.

#include <array>
#include <span>
#include <string_view>

namespace trainyard {

/// Exit codes, documented in README.md.
enum ExitCode : int {
  exit_done = 0,
  exit_limit_missed = 1,  ///< a validation or comparison missed its limit
  exit_wrong_command_line = 2,
  exit_wrong_input = 3,     ///< wrong on any hardware: syntax, names, units, more ranks than GPUs
  exit_job_impossible = 4,  ///< valid, but the machine cannot do it
  exit_file = 5,            ///< cannot read or write
  exit_bug = 70,            ///< an internal error of trainyard
  exit_interrupted = 130,   ///< SIGINT or SIGTERM
};

struct ExitMeaning {
  ExitCode code;
  std::string_view text;
};

inline constexpr std::array exit_meanings{
    ExitMeaning{exit_done, "done"},
    ExitMeaning{exit_limit_missed, "a limit was missed"},
    ExitMeaning{exit_wrong_command_line, "wrong command line"},
    ExitMeaning{exit_wrong_input, "wrong input"},
    ExitMeaning{exit_job_impossible, "the machine cannot run the job, or not within the limits"},
    ExitMeaning{exit_file, "cannot read or write"},
    ExitMeaning{exit_bug, "a bug in trainyard"},
    ExitMeaning{exit_interrupted, "interrupted"}};

struct Command;  // commands.hpp

/// Runs a program with these commands. Results go to stdout, everything else to stderr. Returns the exit
/// code; throws nothing.
int run_cli(int argc, const char* const* argv, std::span<const Command> commands);

}  // namespace trainyard
