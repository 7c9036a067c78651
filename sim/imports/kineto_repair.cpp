#include "imports/kineto_repair.hpp"

#include "config/utf8.hpp"
#include "imports/find_text.hpp"

#include <algorithm>
#include <array>

namespace trainyard {

std::string_view quick_category(std::string_view event) {
  constexpr std::size_t key_length = 6;
  const std::size_t found = find_text(event, "\"cat\":");
  if (found == std::string_view::npos) return {};
  const std::size_t args = find_text(event.substr(0, found), "\"args\"");
  if (args != std::string_view::npos) return {};
  std::size_t begin = found + key_length;
  while (begin < event.size() && event[begin] == ' ') ++begin;
  if (begin >= event.size() || event[begin] != '"') return {};
  const std::size_t end = event.find('"', begin + 1);
  return end == std::string_view::npos ? std::string_view{} : event.substr(begin + 1, end - begin - 1);
}

bool is_needless(std::string_view category, std::string_view event) {
  constexpr std::array<std::string_view, 8> needless{
      "ac2g",     "fwdbwd", "async", "cpu_instant_event", "Trace", "overhead", "gpu_user_annotation",
      "cuda_sync"};
  if (std::ranges::find(needless, category) != needless.end()) return true;
  return category == "python_function" && find_text(event, "nn.Module: ") == std::string_view::npos;
}

std::string repaired(std::string_view event) {
  std::string text;
  constexpr std::string_view key = "\"name\": \"";
  constexpr std::string_view behind = "\", \"pid\":";
  const std::size_t name = event.find(key);
  const std::size_t end = name == std::string_view::npos ? name : event.find(behind, name);
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  for (std::size_t i = 0; i < event.size(); ++i) {
    const char c = event[i];
    const bool is_in_name = end != std::string_view::npos && i >= name + key.size() && i < end;
    if (is_in_name && (c == '"' || c == '\\')) {
      const std::string_view next = event.substr(i + 1, 5);
      const bool is_escape =
          c == '\\' && i + 1 < end &&
          (std::string_view("\"\\/bfnrt").find(next.front()) != std::string_view::npos ||
           (next.size() == 5 && next.front() == 'u' && std::ranges::all_of(next.substr(1), is_hex)));
      if (is_escape) {
        text += c;
        text += event[++i];
        continue;
      }
      text += '\\';
    }
    text += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    if (is_in_name && c == '\n') text.back() = ' ';
  }
  for (std::size_t valid = 0;;) {
    const auto bad = config::find_invalid_utf8(std::string_view(text).substr(valid));
    if (!bad) return text;
    valid += *bad;
    text[valid++] = '?';
  }
}

}  // namespace trainyard
