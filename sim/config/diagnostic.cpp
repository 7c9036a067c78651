#include "config/diagnostic_lines.hpp"
#include "config/utf8.hpp"
#include "units/control_characters.hpp"
#include "units/lines.hpp"
#include "units/print_style.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// Longer lines are shown in part, around the caret, also on a wider page.
constexpr int most_shown = 120;

/// The line of carets with the hint after it, or below it where the page is too narrow.
std::string caret_lines(const Diagnostic& diagnostic, const std::string& blank, int column, int room,
                        std::size_t width) {
  std::string line(static_cast<std::size_t>(std::max(0, column - 1)), ' ');
  line.append(static_cast<std::size_t>(std::clamp(diagnostic.width, 1, std::max(1, room))), '^');
  if (diagnostic.hint.empty()) return blank + line;
  const std::size_t gutter = blank.size() - 1;  // without its line break
  const std::size_t hint = columns(diagnostic.hint);
  if (gutter + line.size() + 1 + hint <= width) return blank + line + ' ' + diagnostic.hint;
  line.insert(0, blank);
  // below the carets, unless they are too far on the right
  const std::size_t most_indent = width / 2 > gutter ? width / 2 - gutter : 0;
  const std::size_t indent = std::min(static_cast<std::size_t>(std::max(0, column - 1)), most_indent);
  for (const std::string& part : wrap_whole(diagnostic.hint, width - gutter - indent))
    line.append(blank).append(indent, ' ').append(part);
  return line;
}

/// The source line with the caret and the hint below it.
std::string excerpt(const Diagnostic& diagnostic, std::size_t width) {
  const std::string number = diagnostic.line > 0 ? std::to_string(diagnostic.line) : "";
  const std::string gutter = "\n  " + number + (number.empty() ? "" : " | ");
  const std::string blank = "\n  " + std::string(number.size(), ' ') + (number.empty() ? "" : " | ");
  constexpr std::size_t dots = 6;  // at both ends of a part
  const std::size_t room_for_text = width - (gutter.size() - 1);
  const int length = config::count_characters(diagnostic.source_line);
  int column = std::max(1, diagnostic.column);
  std::string text;
  if (length <= std::min(most_shown, static_cast<int>(room_for_text))) {
    text = diagnostic.source_line;
  } else {
    const int shown = std::min(most_shown, static_cast<int>(room_for_text - dots));
    const int first = std::clamp(column - shown / 2, 0, length - shown);
    text = (first > 0 ? "..." : "") +
           std::string(config::cut_characters(diagnostic.source_line, first, shown)) +
           (first + shown < length ? "..." : "");
    column -= first > 0 ? first - 3 : 0;
  }
  std::replace(text.begin(), text.end(), '\t', ' ');  // one column, independent of the terminal's tab stops
  const int room = config::count_characters(text) - column + 1;
  return gutter + text + caret_lines(diagnostic, blank, column, room, width);
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

std::string to_string(const Diagnostic& diagnostic) { return to_lines(diagnostic, most_page_width); }

std::string to_lines(const Diagnostic& diagnostic, std::size_t width) {
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) {
    text += ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column);
  }
  if (!text.empty()) text += ": ";
  text += diagnostic.severity == Severity::error ? "error: " : "warning: ";
  text += diagnostic.message;
  if (!diagnostic.key_path.empty()) text += " (in " + diagnostic.key_path + ")";
  if (!diagnostic.source_line.empty())
    return without_controls(fitted_lines(text, width) + excerpt(diagnostic, width));
  if (!diagnostic.hint.empty()) text += "\n  " + diagnostic.hint;
  return without_controls(fitted_lines(text, width));
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
