#pragma once
// Reads text into a tree of nodes with yaml-cpp, which is used nowhere else. Other code calls parse, load and
// set (document.hpp).

#include "config/document.hpp"

#include <string>
#include <vector>

namespace trainyard::config {

/// Deepest nesting of mappings and lists, aliases included.
constexpr int deepest_nesting = 32;
/// Largest number of values in a document after expansion of aliases.
constexpr std::size_t most_values = 200'000;
/// The most bytes of text that anchors and aliases may copy: four times the largest file.
constexpr std::size_t most_copied_bytes = std::size_t{16} << 20U;

struct YamlResult {
  Node root;
  std::vector<Diagnostic> errors;
  bool is_whole = true;  ///< false: reading stopped at the last error
};

/// Reads the one YAML document in `text` (from plain_text); document.lines are its lines. Never throws for
/// bad input: errors are in the result.
YamlResult read_yaml(const Document& document, const std::string& text);

}  // namespace trainyard::config
