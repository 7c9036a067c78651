#pragma once
// All update rules, for tests of what holds whatever the rule: a new one is tested with the others.

#include "strategy/update_rule.hpp"

#include <vector>

namespace trainyard::testing {

/// Each update rule with those of the values that it takes.
inline std::vector<UpdateSettings> every_rule(const UpdateSettings& values) {
  std::vector<UpdateSettings> all;
  for (const auto& [name, rule, doc, traits] : update_rules) {
    UpdateSettings& one = all.emplace_back(UpdateSettings{.rule = rule, .workers = values.workers});
    if (traits.takes_k()) one.k = values.k;
    if (traits.is_bounded()) one.bound = values.bound;
    if (traits.sums_steps) one.push_every = values.push_every;
    if (traits.in_background) one.fetch_every = values.fetch_every;
  }
  return all;
}

}  // namespace trainyard::testing
