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
  int device = 0;          ///< as CUDA counts the GPUs it may see
  std::set<int> left_out;  ///< lines of the plan
  bool help = false;       ///< nothing else is then looked at
};

/// A command line that is wrong: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `arguments` without the program's name. An option's value may be the next argument or follow a '='. Throws
/// UsageError.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

/// What --help prints.
std::string help_text();

}  // namespace trainyard::cuda
