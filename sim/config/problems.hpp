#pragma once
// The errors and warnings of one document, gathered while it is read and checked.

#include "config/diagnostic.hpp"
#include "config/document.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

class Problems {
public:
  /// Starts with the errors of the document itself.
  explicit Problems(const Document& document);

  /// Reports a value whose meaning is wrong. The position is that of `key_path` or its nearest parent that
  /// exists. Nothing is added when reading that value, a part of it or the whole it belongs to has failed
  /// already
  /// (!readable(key_path)): what a check says about such a value means nothing.
  void error(std::string_view key_path, std::string message, std::string hint = {});
  /// The same, for what is probably but not certainly wrong.
  void warning(std::string_view key_path, std::string message, std::string hint = {});
  /// An error unless the key "name" repeats the file's name without .yaml: names are looked up by file.
  void check_name(std::string_view name);
  /// False if the value at `key_path`, a part of it or a whole it belongs to could not be read.
  [[nodiscard]] bool readable(std::string_view key_path) const;

  /// Used while reading: an error at a position, always kept, that makes `key_path` unreadable. `width` is
  /// what the caret underlines, in characters.
  void unreadable(std::string_view key_path, Mark mark, int width, std::string message,
                  std::string hint = {});

  /// Throws one InputError with everything found, in the order of the text, if there was an error; otherwise
  /// appends the warnings to `warnings` (if given).
  void finish(std::vector<Diagnostic>* warnings);

private:
  void add(Diagnostic diagnostic, Mark mark);

  const Document& document_;
  struct Found {
    Mark mark;
    Diagnostic diagnostic;
  };
  std::vector<Found> found_;
  std::vector<std::string> unreadable_;
  std::size_t left_out_ = 0;
};

}  // namespace trainyard::config
