#include "interchange/input_text.hpp"

#include "config/file_format.hpp"

#include <utility>

namespace trainyard {
namespace {

constexpr char escape = '\x1b';

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The end of the escape sequence that begins at `at`: "ESC [ 4 m" ends with a letter.
std::size_t end_of_escape(std::string_view bytes, std::size_t at) {
  std::size_t end = at + 1;
  if (end >= bytes.size() || bytes[end] != '[') return end;
  constexpr std::size_t longest = 16;
  for (++end; end < bytes.size() && end < at + longest; ++end) {
    const char c = bytes[end];
    if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return end + 1;
  }
  return end;
}

/// Bytes of a blank that texts from web pages and editors have in place of " ": U+00A0, U+2007 and U+202F; of
/// one without width, U+200B; 0 for anything else.
std::size_t odd_blank(std::string_view rest) {
  for (const std::string_view blank : {"\xC2\xA0", "\xE2\x80\x87", "\xE2\x80\xAF", "\xE2\x80\x8B"}) {
    if (rest.starts_with(blank)) return blank.size();
  }
  return 0;
}

}  // namespace

InputText plain_input(std::string name, std::string_view bytes) {
  if (bytes.empty()) throw input_error(name, 0, "the file is empty");
  if (bytes.size() > largest_interchange_file) {
    throw input_error(name, 0, "the file is larger than 32 MiB", "no description of a node is that long");
  }
  if (const config::FileFormat binary = config::binary_format_of(bytes);
      binary != config::FileFormat::unknown)
    throw input_error(name, 0, "this is " + std::string(config::words_of(binary)),
                      config::command_for(binary, name));
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) {
    throw input_error(name, 0, "the file is UTF-16",
                      "convert it: iconv -f UTF-16 -t UTF-8 FILE (Windows PowerShell writes UTF-16)");
  }
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const char c = bytes[at];
    if (c == '\0') throw input_error(name, 0, "the file is binary", "a text or XML file is expected");
    if (c == escape) {
      at = end_of_escape(bytes, at);
      continue;
    }
    if (const std::size_t blank = odd_blank(bytes.substr(at)); blank > 0) {
      text += ' ';
      at += blank;
      continue;
    }
    if (c != '\r') text += c;
    ++at;
  }
  return {std::move(name), std::move(text)};
}

InputError input_error(const std::string& file, int line, std::string message, std::string hint) {
  return InputError({Diagnostic{.file = file,
                                .line = line,
                                .column = line > 0 ? 1 : 0,
                                .key_path = {},
                                .message = std::move(message),
                                .hint = std::move(hint),
                                .source_line = {}}});
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && is_blank(line[at])) ++at;
    const std::size_t begin = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    if (at > begin) words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

std::string base_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

std::string shown(std::string_view text, std::size_t most) {
  std::string result = "'";
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return result + (text.size() > most ? "...'" : "'");
}

}  // namespace trainyard
