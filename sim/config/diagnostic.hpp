#pragma once
// An error in a user's file: its position, a message and a hint for correction. A loader gathers every
// Diagnostic of a file and throws one InputError; the program prints it and exits with 3.

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

enum class Severity { error, warning };

struct Diagnostic {
  std::string file;
  int line = 0;             ///< 1-based; 0 for the whole file
  int column = 0;           ///< 1-based, in characters
  std::string key_path;     ///< "links[0].bandwidth"; empty for syntax errors
  std::string message;      ///< lower case, no full stop, names quoted
  std::string hint;         ///< the correction; may be empty
  std::string source_line;  ///< the text of the line; empty if there is none to show
  int width = 1;            ///< characters underlined by the caret
  Severity severity = Severity::error;
};

/// "file:4:35: error: message (in key.path)", the line, and a caret with the hint below it.
std::string to_string(const Diagnostic& diagnostic);

/// Input that is wrong on any hardware: exit code 3.
class InputError : public std::exception {
public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  /// An error outside files: a command-line name, a combination of values.
  explicit InputError(std::string message, std::string hint = {});

  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

/// A valid job that cannot run on its machine: exit code 4.
class JobImpossible : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// Files that cannot be read or written: exit code 5.
class FileError : public std::runtime_error {
  using runtime_error::runtime_error;
};

}  // namespace trainyard
