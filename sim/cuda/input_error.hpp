#pragma once
// Errors before any kernel runs: in the plan or the recording (exit code 3), or a file that cannot be read or
// written (exit code 5). Not the simulator's own types, because this program builds without the simulator.

#include <stdexcept>
#include <string>
#include <vector>

namespace trainyard::cuda {

/// The problems of one file, collected while it is read: one line of text each.
class Problems {
public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  /// "FILE:LINE: error: message (hint)"; a line of 0 means the whole file. At most 50 are kept, the rest are
  /// counted.
  void add(int line, const std::string& message, const std::string& hint = {});

  /// Throws InputError if anything was added.
  void finish() const;

private:
  std::string file_;
  std::vector<std::string> lines_;
  int left_out_ = 0;
};

/// Input that is wrong on every GPU. Its text is one line per problem.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file that cannot be read or written.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace trainyard::cuda
