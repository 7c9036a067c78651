#include "jobs/places.hpp"

#include <algorithm>
#include <cstddef>

namespace trainyard::jobs {
namespace {

/// The characters of UTF-8 before a byte, from 1.
int column_at(std::string_view line, std::size_t byte) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return 1 + static_cast<int>(std::ranges::count_if(line.substr(0, byte), begins));
}

/// The last part of a key, as options or files write it.
std::size_t key_in(std::string_view line, const Setting& setting) {
  std::string word = setting.key.substr(setting.key.find_last_of('.') + 1);
  std::size_t at = line.find(word);
  std::ranges::replace(word, '_', '-');
  return std::min(at, line.find(word));
}

}  // namespace

std::string line_of(std::string_view text, int number) {
  for (; number > 1 && !text.empty(); --number)
    text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  std::string_view line = number == 1 ? text.substr(0, text.find('\n')) : std::string_view();
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

config::Mark mark_of(const Setting& setting, std::string_view line) {
  const std::size_t key = key_in(line, setting);
  const std::size_t from =
      key == std::string_view::npos ? 0 : key + setting.key.size() - setting.key.find_last_of('.') - 1;
  std::size_t at =
      setting.value.empty() ? std::string_view::npos : line.find(setting.value, std::min(from, line.size()));
  if (at == std::string_view::npos) at = key;
  if (at == std::string_view::npos) at = std::min(line.find_first_not_of(" \t"), line.size());
  return {setting.line, column_at(line, at)};
}

Diagnostic diagnostic_at(const Setting& setting, std::string_view text, std::string message) {
  Diagnostic diagnostic{.file = setting.file,
                        .line = setting.line,
                        .key_path = {},
                        .message = std::move(message),
                        .hint = {},
                        .source_line = line_of(text, setting.line)};
  const config::Mark mark = mark_of(setting, diagnostic.source_line);
  diagnostic.column = mark.column;
  const std::size_t at = diagnostic.source_line.find(setting.value);
  if (!setting.value.empty() && at != std::string::npos)
    diagnostic.width = static_cast<int>(setting.value.size());
  return diagnostic;
}

}  // namespace trainyard::jobs
