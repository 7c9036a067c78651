#include "rules/run_rules.hpp"

#include "config/read.hpp"
#include "rules/rule_settings.hpp"

#include <cstddef>

namespace trainyard {
RunRules load_run_rules(const config::Document& document, const config::Catalogue& catalogue) {
  return config::read<RunRules>(document, [&](const RunRules& read, config::Problems& problems) {
    problems.check_name(read.name);
    for (std::size_t i = 0; i < read.models.size(); ++i) {
      const ModelRule& rule = read.models[i];
      const std::string path = config::join("models", i);
      if (file_of_rule(catalogue, config::Kind::model, rule.model, config::join(path, "model"), problems))
        check_settings(rule.set, config::join(path, "set"), rule.model, {}, catalogue, problems);
    }
    for (std::size_t i = 0; i < read.stacks.size(); ++i) {
      const StackRule& rule = read.stacks[i];
      const std::string path = config::join("stacks", i);
      if (file_of_rule(catalogue, config::Kind::stack, rule.stack, config::join(path, "stack"), problems))
        check_settings(rule.set, config::join(path, "set"), {}, rule.stack, catalogue, problems);
    }
  });
}

}  // namespace trainyard
