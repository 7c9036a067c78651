#include "published/run_rules.hpp"

#include "config/read.hpp"
#include "published/rule_settings.hpp"

#include <cstddef>

namespace trainyard {
namespace {

/// Whether the catalogue has the file; reports it if not.
bool check_name(config::Kind kind, const std::string& name, const std::string& key,
                const config::Catalogue& catalogue, config::Problems& problems) {
  if (!problems.readable(key)) return false;
  try {
    config::find(catalogue, kind, name);
    return true;
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    problems.error(key, first.message, first.hint);
    return false;
  }
}

}  // namespace

RunRules load_run_rules(const config::Document& document, const config::Catalogue& catalogue) {
  return config::read<RunRules>(document, [&](const RunRules& read, config::Problems& problems) {
    problems.check_name(read.name);
    for (std::size_t i = 0; i < read.models.size(); ++i) {
      const ModelRule& rule = read.models[i];
      const std::string path = config::join("models", i);
      if (check_name(config::Kind::model, rule.model, config::join(path, "model"), catalogue, problems))
        check_settings(rule.set, config::join(path, "set"), rule.model, {}, catalogue, problems);
    }
    for (std::size_t i = 0; i < read.stacks.size(); ++i) {
      const StackRule& rule = read.stacks[i];
      const std::string path = config::join("stacks", i);
      if (check_name(config::Kind::stack, rule.stack, config::join(path, "stack"), catalogue, problems))
        check_settings(rule.set, config::join(path, "set"), {}, rule.stack, catalogue, problems);
    }
  });
}

RunRules read_run_rules(const config::Catalogue& catalogue, const std::string& name_or_path) {
  return load_run_rules(config::load(config::find(catalogue, config::Kind::runs, name_or_path)), catalogue);
}

}  // namespace trainyard
