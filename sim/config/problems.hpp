#pragma once
// Collects the errors and warnings of one document while it is read and checked.

#include "config/diagnostic.hpp"
#include "config/document.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

class Problems {
public:
  /// Begins with the errors of the document itself.
  explicit Problems(const Document& document);

  /// Reports a wrong meaning of a value, at the position of `key_path` or its nearest existing parent. Adds
  /// nothing if reading that value, a part of it or a parent has already failed (!readable(key_path)): a
  /// check of such a value is meaningless.
  void error(std::string_view key_path, std::string message, std::string hint = {});
  /// Reports a probable error in the same way.
  void warning(std::string_view key_path, std::string message, std::string hint = {});
  /// An error unless the key "name" equals the file's name without .yaml: names are looked up by file.
  void check_name(std::string_view name);
  /// False if the value at `key_path`, a part of it or a parent could not be read.
  [[nodiscard]] bool readable(std::string_view key_path) const;
  /// Whether "node.peer_to_peer" stands in the file or was set, whatever its value. Mappings only, no lists.
  [[nodiscard]] bool written(std::string_view key_path) const;

  /// Whether the value at "node.gpus.count" was set from outside the file (--set). Mappings only, no lists.
  [[nodiscard]] bool is_set(std::string_view key_path) const;

  /// Used while reading: an error at a position, always kept, that makes `key_path` unreadable. `width`:
  /// characters underlined by the caret.
  void unreadable(std::string_view key_path, Mark mark, int width, std::string message,
                  std::string hint = {});

  /// Throws one InputError with everything found, in the order of the text, if there was an error; otherwise
  /// appends the warnings to `warnings` (if given). Beyond a hundred errors or warnings, only the number of
  /// further ones is reported.
  void finish(std::vector<Diagnostic>* warnings);

private:
  [[nodiscard]] const Node* find(std::string_view key_path) const;
  /// Reports an error or a warning, unless the value it is about could not be read.
  void report(Severity severity, std::string_view key_path, std::string message, std::string hint);
  void add(Diagnostic diagnostic, Mark mark);

  const Document& document_;
  struct Found {
    Mark mark;
    Diagnostic diagnostic;
  };
  std::vector<Found> found_;
  std::vector<std::string> unreadable_;
  /// How many were found, kept or not: many warnings neither fail a file nor hide its errors.
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

}  // namespace trainyard::config
