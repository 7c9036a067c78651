#include "config/yaml_errors.hpp"

#include "config/utf8.hpp"
#include "units/text.hpp"

namespace trainyard::config {

namespace {

constexpr int longest_key = 1024;

std::string_view text_at(Mark mark, const std::vector<std::string>& lines, int count) {
  if (mark.line < 1 || mark.line > static_cast<int>(lines.size())) return {};
  return cut_characters(lines[static_cast<std::size_t>(mark.line - 1)], mark.column - 1, count);
}

}  // namespace

SyntaxError explain(const std::string& message, Mark mark, const std::vector<std::string>& lines,
                    std::optional<Mark> bracket) {
  if (message == "illegal map value") {
    if (mark.column > longest_key) return {mark, "a key has more than 1024 characters", ""};
    return {mark, "':' is not expected here",
            "quote text that holds ': ', or start the key on a line of its own"};
  }
  if (message.starts_with("end of map flow") || message.starts_with("end of sequence flow")) {
    const std::string_view closer = message.starts_with("end of map") ? "'}'" : "']'";
    const bool same_line = !bracket || bracket->line == mark.line;
    return {bracket.value_or(mark), "this bracket is never closed",
            "expected ',' or " + std::string(closer) +
                (same_line ? "" : " by line " + std::to_string(mark.line))};
  }
  if (message.starts_with("end of map") || message.starts_with("end of sequence")) {
    return {mark, "this does not fit what stands before it", "check the indentation, quotes and brackets"};
  }
  if (message == "unknown token") {
    return {mark, in_quotes(text_at(mark, lines, 1)) + " cannot start a value", "put the text in quotes"};
  }
  if (message.starts_with("the referenced anchor is not defined")) {  // yaml-cpp 0.8 adds its name
    return {mark, "this alias refers to no anchor",
            "define it above with '&name', or quote a text that starts with '*'"};
  }
  if (message == "illegal EOF in scalar") return {mark, "this quote is never closed", ""};
  if (message == "bad file") {
    return {mark, "nested deeper than 32 levels", ""};
  }
  return {mark, message, ""};
}

bool is_closed(std::string_view text, std::size_t at) {
  constexpr std::string_view blank = " \n\t";
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = text.find_first_not_of(blank, text.find_first_of(blank, at));
  }
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return true;
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || text.substr(at + 1, 1) != "'") return true;
      ++at;  // '' is an apostrophe
    }
  }
  return false;
}

}  // namespace trainyard::config
