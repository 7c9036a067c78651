#pragma once
// The one place that knows yaml-cpp: text to a tree of nodes. Everyone else calls parse, load and set
// (document.hpp).

#include "config/document.hpp"

#include <string>
#include <vector>

namespace trainyard::config {

/// Deepest nesting of mappings and lists, aliases included.
constexpr int deepest_nesting = 32;
/// Most values in a document after aliases are expanded.
constexpr std::size_t most_values = 200'000;

struct YamlResult {
  Node root;
  std::vector<Diagnostic> errors;
  bool is_whole = true;  ///< false: reading stopped at the last error
};

/// Reads the one YAML document that `text` (plain_text) holds; document.lines are its lines. Never throws for
/// bad input: what is wrong is in the result.
YamlResult read_yaml(const Document& document, const std::string& text);

}  // namespace trainyard::config
