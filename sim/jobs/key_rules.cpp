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
