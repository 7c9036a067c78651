#pragma once
// The command line of trainyard_gpu_kernels.

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cuda {

struct CommandLine {
  std::string plan;
  std::string recording;
  double seconds = 520;    ///< some machines end a command after ten minutes
  int device = 0;          ///< in CUDA's numbering of the visible GPUs
  std::set<int> left_out;  ///< lines of the plan
  bool help = false;       ///< the rest is then ignored
};

/// An invalid command line: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `arguments` without the program's name. An option's value may be the next argument or follow a '='. Throws
/// UsageError.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

/// The text of --help.
std::string help_text();

}  // namespace trainyard::cuda
