#include "experiment/sync_keys.hpp"

#include <fmt/format.h>
#include <string>

namespace trainyard {

void check_rule_keys(const Sync& sync, config::Problems& problems) {
  const std::string_view rule = config::name_of(sync.update);
  for (const RuleKey& key : rule_keys) {
    const bool is_given = key.is_given(sync);
    const bool is_of_rule = key.is_of(traits(sync.update));
    if (is_given && !is_of_rule) {
      const std::string rules =
          key.rules.empty() ? config::names_with<update_rules>(key.is_of) : std::string(key.rules);
      problems.error(fmt::format("sync.{}", key.name),
                     fmt::format("'{}' applies only to {}; sync.update is '{}'", key.name, rules, rule));
    }
    if (!is_given && is_of_rule && key.is_needed)
      problems.error("sync.update", fmt::format("'{}' needs '{}'", rule, key.name),
                     fmt::format("add '{}' to 'sync'", key.name));
  }
}

}  // namespace trainyard
