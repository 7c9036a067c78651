#pragma once
// A YAML file as a checked tree of our own: positions kept, nothing implicit. The only door for text that
// users write; yaml-cpp sits behind it (yaml.cpp) and nowhere else.

#include "config/diagnostic.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// 1-based position in the text; column in characters, not bytes.
struct Mark {
  int line = 0;
  int column = 0;
  int source = 0;  ///< 0: the file; k: the k-th of Document::overrides

  friend bool operator==(const Mark&, const Mark&) = default;
};

struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;

  Kind kind = Kind::null;
  Mark mark;
  std::string scalar;          ///< the text of a scalar
  bool quoted = false;         ///< "12" is text, 12 is a number
  std::vector<Node> items;     ///< of a sequence
  std::vector<Entry> entries;  ///< of a mapping, in the order written, keys unique

  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Node::Entry {
  std::string key;
  Mark mark;
  Node value;
};

/// An empty node of a kind.
Node make_node(Node::Kind kind, Mark mark = {});

/// A value that set() has put into a document.
struct Override {
  std::string text;                        ///< "PATH=TEXT"
  std::optional<Diagnostic> written_at{};  ///< where it stands in a file; none: on the command line
};

struct Document {
  std::string name;                     ///< as printed in diagnostics
  std::vector<std::string> lines = {};  ///< for the line under a message
  Node root = {};
  std::vector<Override> overrides = {};
  std::vector<Diagnostic> errors =
      {};  ///< of the YAML that do not hide the rest: a key twice, a tag, an alias

  /// The node at "links[0].bandwidth", or its nearest parent that exists; never null.
  [[nodiscard]] const Node& nearest(std::string_view path) const;
};

/// A diagnostic without message at `mark`: file, line, column and the text of the line. A mark with line 0
/// means the whole file.
Diagnostic diagnostic_at(const Document& document, Mark mark, int width);
/// Characters of a scalar as it is written in its line, for the caret; 1 for anything else.
int width_of(const Document& document, const Node& node);

/// The path of a key below `path`: "a.b", or a["b.c"] where the key itself holds '.', '[' or quotes.
std::string join(std::string_view path, std::string_view key);
/// The path of an item below `path`: "a[3]".
std::string join(std::string_view path, std::size_t index);

/// Parses one YAML document as strictly as the table in platforms/README.md ("Strict input") says. Throws
/// InputError if the text cannot be read to its end; errors after which the rest still means what it says are
/// kept in the document, so that read() reports them with its own.
Document parse(std::string name, std::string_view text);

/// Reads and parses a file. Throws FileError if it cannot be read, InputError if it is not a valid document.
Document load(const std::filesystem::path& file);

/// Sets `path` ("platform.fabric.nic", "links[0].lanes") to the YAML value `text`, creating mappings on the
/// way, as --set does. Later errors about it are reported at `written_at` (a diagnostic_at the place of the
/// value in a file), or at "--set PATH=TEXT" if that is null. Throws InputError if text or path do not parse.
/// `file` is shown before the path where the user named the document so: "platform.".
void set(Document& document, std::string_view path, std::string_view text, std::string_view file = {},
         const Diagnostic* written_at = nullptr);

}  // namespace trainyard::config
