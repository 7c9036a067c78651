#pragma once
// Whether the rules of an experiment can divide the layers of a model (strategy/layer_division.hpp).

#include "strategy/layer_rule.hpp"
#include "strategy/layout_refusal.hpp"
#include "strategy/shard.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// A rule and its place, at which errors point.
struct PlacedRule {
  const LayerRule& rule;
  const std::vector<LayerRule>& all;

  [[noreturn]] void refuse(std::string_view key, std::string message, std::string hint) const {
    refuse_layout(key_of(rule, all, key), std::move(message), std::move(hint));
  }
};

/// Throws InputError, at the key of the rule, if a rule counts for no layer, or for one that `replicas` ranks
/// cannot divide.
void check_rules(const ShardedModel& model, const std::vector<LayerRule>& rules, int replicas);

}  // namespace trainyard
