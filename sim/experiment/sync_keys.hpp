#pragma once
// Which keys of `sync` belong to which update rule: checks refuse the others, and an override of the rule
// leaves them out.

#include "config/problems.hpp"
#include "config/refusal.hpp"
#include "experiment/experiment.hpp"

#include <array>
#include <string_view>

namespace trainyard {

/// A key that only some update rules have.
struct RuleKey {
  std::string_view name;
  bool (*is_given)(const Sync& sync);
  bool (*is_of)(const UpdateRuleTraits& rule);
  bool is_needed = false;       ///< by the rules that have it
  std::string_view rules = {};  ///< in messages; empty: their names
};

inline constexpr auto rule_keys = std::to_array<RuleKey>(
    {{"k", config::has<&Sync::k>, [](const auto& rule) { return rule.takes_k(); }, true,
      "the k_* update rules"},
     {"adaptive_k", config::has<&Sync::adaptive_k>, [](const auto& rule) { return rule.takes_k(); }, false,
      "the k_* update rules"},
     {"bound", config::has<&Sync::bound>, [](const auto& rule) { return rule.is_bounded(); }, true},
     {"push_every", config::has<&Sync::push_every>, [](const auto& rule) { return rule.sums_steps; }, true},
     {"fetch_every", config::has<&Sync::fetch_every>, [](const auto& rule) { return rule.in_background; },
      true},
     {"backups", config::has<&Sync::backups>, [](const auto& rule) { return rule.is_one_batch(); }}});

/// Reports keys of other update rules, and missing ones of its own.
void check_rule_keys(const Sync& sync, config::Problems& problems);

}  // namespace trainyard
