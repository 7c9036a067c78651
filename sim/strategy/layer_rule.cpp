#include "strategy/layer_rule.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>

namespace trainyard {

bool is_matched(const LayerRule& rule, const std::string& layer) {
  return fnmatch(rule.match.c_str(), layer.c_str(), 0) == 0;
}

std::string key_of(const LayerRule& rule, const std::vector<LayerRule>& rules, std::string_view key) {
  return fmt::format("layers[{}].{}", &rule - rules.data(), key);
}

const LayerRule* rule_for(const std::string& layer, const std::vector<LayerRule>& rules) {
  const auto found =
      std::ranges::find_if(rules, [&](const LayerRule& rule) { return is_matched(rule, layer); });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace trainyard
