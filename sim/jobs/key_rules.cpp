#include "jobs/key_rules.hpp"

#include <algorithm>

namespace trainyard::jobs {
namespace {

bool fits(std::string_view pattern, std::string_view key) {
  if (!pattern.ends_with('*')) return pattern == key;
  pattern.remove_suffix(1);
  return key.starts_with(pattern);
}

}  // namespace

const KeyRule* rule_for(std::span<const KeyRule> rules, std::string_view key) {
  // no rule has more parts
  constexpr std::ptrdiff_t most_parts = 16;
  for (auto dots = std::ranges::count(key, '.'); dots > most_parts; --dots)
    key.remove_prefix(key.find('.') + 1);
  for (const bool is_pattern : {false, true}) {
    for (std::string_view rest = key;;) {
      const auto found = std::ranges::find_if(rules, [&](const KeyRule& rule) {
        return rule.key.ends_with('*') == is_pattern && fits(rule.key, rest);
      });
      if (found != rules.end()) return &*found;
      const std::size_t dot = rest.find('.');
      if (dot == std::string_view::npos) break;
      rest.remove_prefix(dot + 1);
    }
  }
  return nullptr;
}

}  // namespace trainyard::jobs
