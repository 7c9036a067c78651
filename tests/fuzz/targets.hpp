#pragma once
// Readers that are fed with mutated input: for any bytes each ends with a value, or with one of the errors
// that the program reports as such. Everything else ends the process and is a finding.

#include <span>
#include <string>
#include <string_view>

namespace trainyard::fuzz {

struct Target {
  std::string_view name;
  void (*read)(const std::string& input);
  /// Files to begin with, relative to the source tree, as Python's glob knows them; blank-separated.
  std::string_view seeds;
  /// The kind of file whose keys are words to try (`trainyard schema`), or empty.
  std::string_view kind = {};
  /// An input that is no file of the source tree.
  std::string (*made)() = nullptr;
};

std::span<const Target> text_targets();
std::span<const Target> yaml_targets();
std::span<const Target> file_targets();

/// Ends the process; `what` is printed also where stderr is closed.
[[noreturn]] void broken(std::string_view what);

/// broken() unless both texts are equal.
void require_equal(std::string_view what, std::string_view first, std::string_view second);

}  // namespace trainyard::fuzz
