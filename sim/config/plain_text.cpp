#include "config/plain_text.hpp"

#include "config/diagnostic.hpp"
#include "config/utf8.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

namespace trainyard::config {

namespace {

Diagnostic whole_file(const std::string& name, std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.file = name;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

/// `at`: a byte offset into `text`, which is UTF-8 up to there.
Diagnostic at_offset(const std::string& name, std::string_view text, std::size_t at, std::string message,
                     std::string hint) {
  Diagnostic diagnostic = whole_file(name, std::move(message), std::move(hint));
  const std::string_view before = text.substr(0, at);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  diagnostic.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  diagnostic.column = count_characters(before.substr(line_start)) + 1;
  return diagnostic;
}

/// UTF-16 has a byte order mark or, for text like ours, a zero in every other byte.
bool looks_like_utf16(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return true;
  return bytes.size() >= 4 && ((bytes[0] == 0 && bytes[1] != 0 && bytes[2] == 0) ||
                               (bytes[1] == 0 && bytes[0] != 0 && bytes[3] == 0));
}

std::optional<Diagnostic> wrong_encoding(const std::string& name, std::string_view bytes) {
  if (bytes.size() > largest_file) {
    return whole_file(name, "file has " + std::to_string(bytes.size()) + " bytes, more than 4 MiB", "");
  }
  if (looks_like_utf16(bytes)) {
    return whole_file(name, "file is UTF-16, not UTF-8 (byte offset 0)", "save it as UTF-8");
  }
  if (const std::size_t zero = bytes.find('\0'); zero != std::string_view::npos) {
    return whole_file(name, "file is binary: zero byte at byte offset " + std::to_string(zero), "");
  }
  if (const auto invalid = find_invalid_utf8(bytes)) {
    return at_offset(name, bytes, *invalid, "not UTF-8 at byte offset " + std::to_string(*invalid),
                     "save the file as UTF-8");
  }
  return std::nullopt;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
}

/// The position of a tab in the indentation of a line with more than a comment.
std::size_t indenting_tab(std::string_view line) {
  const std::size_t content = line.find_first_not_of(" \t");
  if (content == std::string_view::npos || line[content] == '#') return std::string_view::npos;
  return line.substr(0, content).find('\t');
}

std::string without_carriage_returns(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
    text += bytes[i];
  }
  return text;
}

/// Characters that end a line in YAML 1.1 and nowhere else.
constexpr std::array<std::pair<std::string_view, int>, 3> line_ends{
    {{"\xC2\x85", 0x85}, {"\xE2\x80\xA8", 0x2028}, {"\xE2\x80\xA9", 0x2029}}};

/// Errors of a single line.
void check_line(const std::string& name, std::string_view line, int number, std::vector<Diagnostic>& found) {
  const auto add = [&](std::size_t at, std::string message, std::string hint, bool show) {
    Diagnostic diagnostic = whole_file(name, std::move(message), std::move(hint));
    diagnostic.line = number;
    diagnostic.column = count_characters(line.substr(0, at)) + 1;
    if (show) diagnostic.source_line = line;
    found.push_back(std::move(diagnostic));
  };
  const auto control = std::find_if(line.begin(), line.end(), is_control);
  if (control != line.end()) {
    const auto byte = static_cast<unsigned char>(*control);
    add(static_cast<std::size_t>(control - line.begin()),
        fmt::format("control character 0x{:02x} in the text", byte), "", false);
  }
  for (const auto& [bytes, code] : line_ends) {
    if (const std::size_t at = line.find(bytes); at != std::string_view::npos)
      add(at, fmt::format("U+{:04X}, the end of a line for some programs only, in the text", code), "",
          false);
  }
  if (const std::size_t tab = indenting_tab(line); tab != std::string_view::npos) {
    add(tab, "tabs are not allowed in indentation", "use spaces", control == line.end());
  }
}

}  // namespace

std::string plain_text(const std::string& name, std::string_view bytes) {
  constexpr std::size_t most_reported = 100;
  if (auto problem = wrong_encoding(name, bytes)) throw InputError({std::move(*problem)});
  while (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);  // yaml-cpp leaves out only the first
  std::string text = without_carriage_returns(bytes);
  std::vector<Diagnostic> found;
  int number = 0;
  for (std::size_t start = 0; start <= text.size() && found.size() < most_reported;) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    check_line(name, std::string_view(text).substr(start, end - start), ++number, found);
    start = end + 1;
  }
  if (!found.empty()) throw InputError(std::move(found));
  return text;
}

}  // namespace trainyard::config
