#pragma once
// A YAML file as our own checked tree: with positions, nothing implicit. All text written by users enters
// here; only yaml.cpp and yaml_errors.cpp use yaml-cpp.

#include "config/diagnostic.hpp"
#include "config/file_format.hpp"

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// 1-based position in the text; column in characters, not bytes.
struct Mark {
  int line = 0;
  int column = 0;
  int source = 0;  ///< 0: the file; k: entry k of Document::overrides

  friend bool operator==(const Mark&, const Mark&) = default;
};

struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;

  Kind kind = Kind::null;
  Mark mark;
  std::string scalar;          ///< the text of a scalar
  bool quoted = false;         ///< "12" is text, 12 is a number
  std::vector<Node> items;     ///< for a sequence
  std::vector<Entry> entries;  ///< for a mapping, in the order written, keys unique

  [[nodiscard]] const Node* find(std::string_view key) const;
};

/// The value of an override that leaves a key out: `--set sync.k=none`.
inline constexpr std::string_view unset_text = "none";

/// Whether an override says that the key shall be left out.
bool is_unset(const Node& node);

struct Node::Entry {
  std::string key;
  Mark mark;
  Node value;
};

/// An empty node of a kind.
Node make_node(Node::Kind kind, Mark mark = {});

/// A value put into a document by set().
struct Override {
  std::string text;                        ///< "PATH=TEXT"
  std::optional<Diagnostic> written_at{};  ///< its place in a file; empty: on the command line
};

struct Document {
  std::string name;                     ///< as printed in diagnostics
  std::vector<std::string> lines = {};  ///< to show under messages
  Node root = {};
  std::vector<Override> overrides = {};
  std::vector<Diagnostic> errors =
      {};  ///< YAML errors after which reading continues: repeated keys, tags, aliases
  std::vector<Diagnostic> warnings = {};  ///< of a file of another tool that became this document
  std::string called = {};  ///< the name that its content has to have; empty: the file's without its ending

  /// The node at "links[0].bandwidth", or its nearest existing parent; never null.
  [[nodiscard]] const Node& nearest(std::string_view path) const;
};

/// A diagnostic at `mark`: file, line, column and the text of the line. Line 0 means the whole file.
Diagnostic diagnostic_at(const Document& document, Mark mark, int width, std::string message = {},
                         std::string hint = {});
/// Takes a key or an item out of the tree. False if there is none at `path`.
bool remove(Document& document, std::string_view path);

/// Characters of a scalar as written in its line, for the caret; 1 for anything else.
int width_of(const Document& document, const Node& node);

/// The path of a key below `path`: "a.b", or a["b.c"] if the key itself contains '.', '[' or quotes.
std::string join(std::string_view path, std::string_view key);
/// The path of an item below `path`: "a[3]".
std::string join(std::string_view path, std::size_t index);

/// Parses one YAML document, as strictly as the table in platforms/README.md ("Strict input"). Throws
/// InputError if the text cannot be read to its end; errors that leave the rest meaningful are kept in the
/// document, so that read() reports them with its own.
Document parse(std::string name, std::string_view text);

/// Parses another tool's file in YAML or JSON, of one of the formats `own`.
Document parse(std::string name, std::string_view text, std::initializer_list<FileFormat> own);

/// Reads and parses a file. Throws FileError if it cannot be read, InputError if it is not a valid document.
Document load(const std::filesystem::path& file);

/// Sets `path` ("platform.fabric.nic", "links[0].lanes") to the YAML value `text` and creates missing
/// mappings, as --set does. Later errors about it are reported at `written_at` (a diagnostic_at the value's
/// place in a file), or at "--set PATH=TEXT" if that is null. Throws InputError if text or path do not parse.
/// `file`: prefix of the path that names the document, for messages: "platform.".
void set(Document& document, std::string_view path, std::string_view text, std::string_view file = {},
         const Diagnostic* written_at = nullptr);

}  // namespace trainyard::config
