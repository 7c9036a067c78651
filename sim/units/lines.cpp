#include "units/lines.hpp"

#include <algorithm>

namespace trainyard {

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t end_of_word(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of(" \n", at), text.size());
}

/// A number whose unit follows, also "(33.5", "+3.1" and "39.4-39.8".
bool is_number(std::string_view word) {
  return word.find_first_not_of("(+-<0123456789.,") == std::string_view::npos;
}

/// Length in bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size() && count > 0) {
    do ++at;
    while (at < text.size() && is_continuation(text[at]));
    --count;
  }
  return at;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width, bool elides) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \n", at)) != std::string_view::npos) {
    std::size_t end = end_of_word(text, at);
    // A number stays with its unit.
    if (is_number(text.substr(at, end - at)) && end < text.size()) end = end_of_word(text, end + 1);
    const std::string_view whole = text.substr(at, end - at);
    const std::string word = elides ? elide(whole, width) : std::string(whole);
    if (lines.empty() || columns(lines.back()) + 1 + columns(word) > width) {
      lines.push_back(word);
    } else {
      lines.back() += ' ' + word;
    }
    at = end;
  }
  return lines;
}

/// The words of a shell command; blanks inside quotes separate none.
std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words;
  char quote = 0;
  bool is_inside = false;
  for (const char c : command) {
    if (quote == 0 && c == ' ') {
      is_inside = false;
      continue;
    }
    if (!is_inside) words.emplace_back();
    is_inside = true;
    words.back() += c;
    if (quote != 0)
      quote = c == quote ? char{0} : quote;
    else if (c == '\'' || c == '"')
      quote = c;
  }
  return words;
}

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string elide(std::string_view text, std::size_t width) {
  const std::size_t length = columns(text);
  if (length <= width) return std::string(text);
  const std::size_t tail = (width - 3) / 2;
  const std::size_t head = width - 3 - tail;
  return std::string(text.substr(0, bytes_of(text, head))) + "..." +
         std::string(text.substr(bytes_of(text, length - tail)));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) { return wrapped(text, width, true); }

std::vector<std::string> wrap_whole(std::string_view text, std::size_t width) {
  return wrapped(text, width, false);
}

std::string hanging(std::string_view label, std::string_view text, std::size_t width) {
  constexpr std::size_t least_room = 28;
  constexpr std::size_t indent = 8;
  const std::size_t used = columns(label);
  const bool has_room = used == 0 || used + least_room <= width || used + columns(text) <= width;
  const std::size_t at = has_room ? used : std::min(indent, used);
  std::string lines;
  std::string before(label);
  if (!has_room) {
    lines = before.substr(0, before.find_last_not_of(' ') + 1);
    lines += lines.empty() ? "" : "\n";
    before.assign(at, ' ');
  }
  for (const std::string& line : wrap(text, width - at)) {
    lines += before + line + '\n';
    before.assign(at, ' ');
  }
  return lines;
}

std::string comment(std::string_view text, std::size_t width) {
  std::string lines;
  for (const std::string& line : wrap(text, width - 2)) lines += "# " + line + '\n';
  return lines;
}

std::string fitted_lines(std::string_view text, std::size_t width) {
  std::string lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (at > 0) lines += '\n';
    at = end + 1;
    if (columns(line) <= width) {
      lines += line;
      continue;
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), width / 2);
    const std::vector<std::string> parts = wrap_whole(line, width - indent - 2);
    for (std::size_t i = 0; i < parts.size(); ++i)
      lines += (i == 0 ? "" : "\n") + std::string(indent + (i == 0 ? 0 : 2), ' ') + parts[i];
  }
  return lines;
}

std::string command_lines(std::string_view command, std::size_t indent, std::size_t width) {
  constexpr std::size_t deeper = 4;
  std::string lines;
  std::size_t used = indent;
  if (indent + columns(command) <= width) return std::string(command);
  for (const std::string& word : shell_words(command)) {
    constexpr std::size_t end = 2;  // the " \" of a line that is not the last
    if (!lines.empty() && used + 1 + columns(word) + end > width) {
      lines += " \\\n" + std::string(indent + deeper, ' ');
      used = indent + deeper;
    } else if (!lines.empty()) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += columns(word);
  }
  return lines;
}

}  // namespace trainyard
