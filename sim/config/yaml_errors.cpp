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

SyntaxError open_bracket(Mark mark, Mark begun, std::string_view closer) {
  const std::string by = begun.line == mark.line ? "" : " by line " + std::to_string(mark.line);
  return {begun, "this bracket is never closed", "expected ',' or '" + std::string(closer) + "'" + by};
}

}  // namespace

SyntaxError explain(std::string_view message, Mark mark, Mark begun, const std::vector<std::string>& lines) {
  if (message == "mapping values are not allowed in this context") {
    if (mark.column > longest_key) return {mark, "a key has more than 1024 characters", ""};
    return {mark, "':' is not expected here",
            "quote text that holds ': ', or start the key on a line of its own"};
  }
  if (message == "did not find expected ',' or '}'") return open_bracket(mark, begun, "}");
  if (message == "did not find expected ',' or ']'") return open_bracket(mark, begun, "]");
  if (message == "did not find expected <document start>") {
    return {mark, "this text belongs to nothing above", "check the indentation"};
  }
  if (message == "found character that cannot start any token") {
    return {mark, in_quotes(text_at(mark, lines, 1)) + " cannot start a value", "put the text in quotes"};
  }
  if (message == "could not find expected ':'") return {begun, "':' is missing after this key", ""};
  if (message == "found unknown escape character")
    return {mark, "'\\' does not start a character here", "write '\\\\', or use single quotes"};
  if (message == "found unexpected end of stream" || message == "found unexpected document indicator")
    return {begun, "this quote is never closed", ""};
  if (message == "found undefined tag handle") {
    return {begun, "tags ('!') are not supported", "write the value without '!'"};
  }
  if (message.starts_with("did not find expected") || message.ends_with("not allowed in this context")) {
    return {mark, "this does not fit what stands before it", "check the indentation, quotes and brackets"};
  }
  return {mark, std::string(message), ""};
}

}  // namespace trainyard::config
