#include "config/diagnostic.hpp"

#include "config/utf8.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// Longer lines are shown in part, around the caret.
constexpr int shown_width = 120;

std::string caret_line(const Diagnostic& diagnostic, int column, int room) {
  std::string line(static_cast<std::size_t>(std::max(0, column - 1)), ' ');
  line.append(static_cast<std::size_t>(std::clamp(diagnostic.width, 1, std::max(1, room))), '^');
  if (!diagnostic.hint.empty()) line += " " + diagnostic.hint;
  return line;
}

/// The source line with the caret and the hint below it.
std::string excerpt(const Diagnostic& diagnostic) {
  const std::string number = diagnostic.line > 0 ? std::to_string(diagnostic.line) : "";
  const std::string gutter = "\n  " + number + (number.empty() ? "" : " | ");
  const std::string blank = "\n  " + std::string(number.size(), ' ') + (number.empty() ? "" : " | ");
  const int length = config::count_characters(diagnostic.source_line);
  int column = std::max(1, diagnostic.column);
  std::string text;
  if (length <= shown_width) {
    text = diagnostic.source_line;
  } else {
    const int first = std::clamp(column - shown_width / 2, 0, length - shown_width);
    text = (first > 0 ? "..." : "") +
           std::string(config::cut_characters(diagnostic.source_line, first, shown_width)) +
           (first + shown_width < length ? "..." : "");
    column -= first > 0 ? first - 3 : 0;
  }
  std::replace(text.begin(), text.end(), '\t', ' ');  // one column, independent of the terminal's tab stops
  const int room = config::count_characters(text) - column + 1;
  return gutter + text + blank + caret_line(diagnostic, column, room);
}

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) {
    text += ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column);
  }
  if (!text.empty()) text += ": ";
  text += diagnostic.severity == Severity::error ? "error: " : "warning: ";
  text += diagnostic.message;
  if (!diagnostic.key_path.empty()) text += " (in " + diagnostic.key_path + ")";
  if (!diagnostic.source_line.empty()) return text + excerpt(diagnostic);
  if (!diagnostic.hint.empty()) text += "\n  " + diagnostic.hint;
  return text;
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : diagnostics_(std::move(diagnostics)), text_(joined(diagnostics_)) {}

InputError::InputError(std::string message, std::string hint)
    : InputError(std::vector{Diagnostic{.file = {},
                                        .key_path = {},
                                        .message = std::move(message),
                                        .hint = std::move(hint),
                                        .source_line = {}}}) {}

}  // namespace trainyard
