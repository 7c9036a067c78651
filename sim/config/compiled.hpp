#pragma once
// The trees of the shipped YAML files, read when the program is built and part of it: a run parses only files
// of the user's, and shipped ones that were edited.

#include "config/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// The tree of a text that is that of a shipped file to the last byte. Nothing for other texts, and in
/// programs without the compiled files.
std::optional<Node> compiled_tree(std::string_view text);

struct ReadText {
  std::string text;
  Node root;
};

/// The bytes from which compiled_tree() reads.
std::string compile(std::vector<ReadText> files);

}  // namespace trainyard::config
