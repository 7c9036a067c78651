#include "config/yaml_errors.hpp"

#include "config/utf8.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cctype>
#include <vector>
#include <yaml-cpp/exceptions.h>

namespace trainyard::config {

namespace {

constexpr int longest_key = 1024;

SyntaxError not_fitting(Mark mark) { return {mark, std::string(does_not_fit), std::string(what_to_check)}; }

SyntaxError open_bracket(const FailedAt& failed, std::size_t bracket, Positions& positions) {
  const Mark begun = positions.at(bracket);
  const char closer = failed.text[bracket] == '{' ? '}' : ']';
  const int line = positions.at(failed.at).line;
  const std::string by = begun.line == line ? "" : " by line " + std::to_string(line);
  return {begun, "this bracket is never closed", std::string("expected ',' or '") + closer + "'" + by};
}

std::size_t line_start(std::string_view text, std::size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
}

/// The place after the closing quote of the text that opens at `at`; npos if there is none.
std::size_t behind_quote(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    const bool is_pair = quote == '\'' && text.substr(i).starts_with("''");
    if (is_pair || (quote == '"' && text[i] == '\\')) {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// The quote that is still open where yaml-cpp failed.
std::size_t open_quote(const FailedAt& failed) {
  const std::string_view text = failed.text.substr(0, failed.at);
  constexpr std::string_view separators = " \n[]{},:";
  for (std::size_t i = failed.read; i < text.size(); ++i) {
    const bool may_begin = i == 0 || separators.find(text[i - 1]) != std::string_view::npos;
    if (text[i] == '#' && may_begin) i = std::min(text.find('\n', i), text.size());
    if (!may_begin || i >= text.size() || (text[i] != '"' && text[i] != '\'')) continue;
    const std::size_t end = behind_quote(text, i);
    if (end == std::string_view::npos) return i;
    i = end - 1;
  }
  return failed.at;
}

/// The innermost bracket that is open where yaml-cpp failed; npos if there is none.
std::size_t open_bracket_before(const FailedAt& failed) {
  const std::string_view text = failed.text.substr(0, failed.at);
  std::vector<std::size_t> open;
  for (std::size_t i = failed.read; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{') open.push_back(i);
    if ((c == ']' || c == '}') && !open.empty()) open.pop_back();
    if (c == '#' && i > 0 && std::isspace(static_cast<unsigned char>(text[i - 1])) != 0)
      i = std::min(text.find('\n', i), text.size());
    if (c == '"' || c == '\'') i = std::min(behind_quote(text, i), text.size()) - 1;
  }
  return open.empty() ? std::string_view::npos : open.back();
}

/// The first text in the column of the keys that stands on a line of its own between the text delivered so
/// far and the line of the error: a key without a colon. npos if there is none.
std::size_t key_without_colon(const FailedAt& failed) {
  const std::string_view text = failed.text;
  const std::size_t end = line_start(text, failed.at);
  for (std::size_t line = text.find('\n', failed.read) + 1; line != 0 && line < end;
       line = text.find('\n', line) + 1) {
    const std::size_t content = text.find_first_not_of(' ', line);
    if (static_cast<int>(content - line) + 1 == failed.column && text[content] != '#') return content;
  }
  return std::string_view::npos;
}

}  // namespace

SyntaxError explain(std::string_view message, const FailedAt& failed, Positions& positions) {
  namespace Says = YAML::ErrorMsg;
  const std::string_view text = failed.text;
  const Mark mark = positions.at(failed.at);
  const auto last = [&](char c) { return positions.at(std::min(text.rfind(c, failed.at), failed.at)); };
  if (message == Says::MAP_VALUE) {
    if (const std::size_t key = key_without_colon(failed); key != std::string_view::npos)
      return {positions.at(key), std::string(missing_colon), ""};
    if (mark.column > longest_key) return {mark, "a key has more than 1024 characters", ""};
    return {mark, "':' is not expected here",
            "quote text that holds ': ', or start the key on a line of its own"};
  }
  if (message == Says::END_OF_MAP_FLOW || message == Says::END_OF_SEQ_FLOW) {
    const std::size_t here = text.find_first_not_of(" \n", failed.at);
    if (here < text.size() && text[here] == '?')
      return {positions.at(here), "'?' cannot start a value", "put the text in quotes"};
    // yaml-cpp ends an open quote with the text, if that ends with a line break
    const std::size_t quote = failed.at < text.size() ? failed.at : open_quote(failed);
    if (quote != failed.at) return {positions.at(quote), std::string(unclosed_quote), ""};
    return open_bracket(failed, failed.flow, positions);
  }
  if (message == Says::END_OF_MAP && mark.column == failed.column &&
      text.find_first_not_of(' ', line_start(text, failed.at)) == failed.at)
    return {mark, std::string(missing_colon), ""};
  if (message == Says::UNKNOWN_TOKEN)
    return {mark, in_quotes(cut_characters(text.substr(failed.at), 0, 1)) + " cannot start a value",
            "put the text in quotes"};
  if (message.starts_with(Says::INVALID_ESCAPE) || message == Says::INVALID_HEX ||
      message.starts_with(Says::INVALID_UNICODE))
    return {last('\\'), "'\\' does not start a character here", "write '\\\\', or use single quotes"};
  if (message == Says::EOF_IN_SCALAR || message == Says::DOC_IN_SCALAR)
    return {positions.at(open_quote(failed)), std::string(unclosed_quote), ""};
  if (message == Says::UNKNOWN_ANCHOR)
    return {mark, "this alias refers to no anchor",
            "define it above with '&name', or quote a text that starts with '*'"};
  if (message == Says::CHAR_IN_TAG_HANDLE || message == Says::TAG_WITH_NO_SUFFIX ||
      message == Says::END_OF_VERBATIM_TAG || message == Says::MULTIPLE_TAGS)
    return {last('!'), "tags ('!') are not supported", "write the value without '!'"};
  const std::size_t first = text.find_first_not_of(' ', line_start(text, failed.at));
  if (first < text.size() && text[first] == '\t')
    return {positions.at(first), "a line begins with a tab", "indent it by blanks"};
  if (const std::size_t bracket = open_bracket_before(failed); bracket != std::string_view::npos)
    return open_bracket(failed, bracket, positions);
  return not_fitting(mark);
}

std::size_t start_of_directive(std::string_view text) {
  return text.starts_with('%') ? 0 : std::min(text.find("\n%"), text.size() - 1) + 1;
}

std::size_t unclosed_at(std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with('&')) at = text.find_first_not_of(" \n", text.find_first_of(" \n", at));
  const bool is_quote = at < text.size() && (text[at] == '"' || text[at] == '\'');
  return is_quote && behind_quote(text, at) == std::string_view::npos ? at : std::string_view::npos;
}

std::size_t item_start(std::string_view text, std::size_t at) {
  std::size_t line = line_start(text, std::min(at, text.size()));
  const auto content = [&] { return text.find_first_not_of(" \t", line); };
  if (at < text.size() && content() < at) return at;
  if (at < text.size() && line > 0) line = line_start(text, line - 1);
  while (line > 0 &&
         (content() == std::string_view::npos || text[content()] == '\n' || text[content()] == '#'))
    line = line_start(text, line - 1);
  const std::size_t end = std::min(text.find_first_of("#\n", line), text.size());
  return text.rfind('-', end);
}

std::string mended_escapes(std::string_view scalar) {
  std::string text;
  while (const auto at = find_invalid_utf8(scalar)) {
    text.append(scalar.substr(0, *at)).append(1, '\xC2').append(1, scalar[*at]);
    scalar.remove_prefix(*at + 1);
  }
  return text.append(scalar);
}

}  // namespace trainyard::config
