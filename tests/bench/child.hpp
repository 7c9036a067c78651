#pragma once
// One run of a program as a child process and what it cost: the bench measures whole processes, start and
// dynamic linking included, because that is what a user waits for.

#include "units/quantity.hpp"

#include <string>
#include <vector>

namespace trainyard::bench {

struct ChildRun {
  int exit_code = 0;   ///< 128 + the signal where one ended it
  std::string output;  ///< stdout; stderr goes where ours goes
  Seconds cpu;         ///< user and system time
  Bytes peak_memory;   ///< largest resident set
};

/// Runs `command` (program path, then arguments) to its end. Throws std::system_error if it cannot start.
ChildRun run_child(const std::vector<std::string>& command);

}  // namespace trainyard::bench
