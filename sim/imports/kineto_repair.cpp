#include "imports/kineto_repair.hpp"

#include "config/utf8.hpp"
#include "imports/find_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

std::optional<EventKind> event_kind_of(std::string_view category) {
  // since 2022; before, with a capital letter
  constexpr std::array<std::pair<std::string_view, EventKind>, 14> kinds_of_events{
      {{"cpu_op", EventKind::op},
       {"cuda_runtime", EventKind::launch},
       {"kernel", EventKind::kernel},
       {"user_annotation", EventKind::range},
       {"cuda_driver", EventKind::launch},
       {"gpu_memcpy", EventKind::copy},
       {"gpu_memset", EventKind::set},
       {"python_function", EventKind::module},
       {"hip_runtime", EventKind::launch},
       {"Operator", EventKind::op},
       {"Runtime", EventKind::launch},
       {"Kernel", EventKind::kernel},
       {"Memcpy", EventKind::copy},
       {"Memset", EventKind::set}}};
  const auto* const found =
      std::ranges::find(kinds_of_events, category, &std::pair<std::string_view, EventKind>::first);
  return found == kinds_of_events.end() ? std::nullopt : std::optional(found->second);
}

bool is_needless(std::string_view category, std::string_view event) {
  if (category == "python_function") return find_text(event, "nn.Module: ") == std::string_view::npos;
  return category.find('\\') == std::string_view::npos && !event_kind_of(category);
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
  config::replace_invalid_utf8(text);
  return text;
}

}  // namespace trainyard
