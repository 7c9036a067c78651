#pragma once
// Exit codes, documented in README.md; the same numbers as trainyard's if both have one.

namespace trainyard::cuda {

enum ExitCode : int {
  exit_done = 0,
  exit_wrong_command_line = 2,
  exit_wrong_input = 3,  ///< the plan, or a recording that must not be continued
  exit_no_gpu = 4,
  exit_file = 5,           ///< cannot read or write
  exit_wrong_result = 70,  ///< a kernel's result was wrong, or a measurement failed
  exit_rows_left = 75,     ///< out of time: the same command continues
  exit_interrupted = 130,
};

}  // namespace trainyard::cuda
