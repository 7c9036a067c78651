#include "study/run_rules.hpp"

#include "config/read.hpp"

#include <cstddef>

namespace trainyard {
namespace {

/// Reports a file that the catalogue does not have.
void check_name(config::Kind kind, const std::string& name, const std::string& key,
                const config::Catalogue& catalogue, config::Problems& problems) {
  if (!problems.readable(key)) return;
  try {
    config::find(catalogue, kind, name);
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    problems.error(key, first.message, first.hint);
  }
}

}  // namespace

RunRules load_run_rules(const config::Document& document, const config::Catalogue& catalogue) {
  return config::read<RunRules>(document, [&](const RunRules& read, config::Problems& problems) {
    problems.check_name(read.name);
    for (std::size_t i = 0; i < read.models.size(); ++i) {
      check_name(config::Kind::model, read.models[i].model, config::join(config::join("models", i), "model"),
                 catalogue, problems);
    }
    for (std::size_t i = 0; i < read.stacks.size(); ++i) {
      check_name(config::Kind::stack, read.stacks[i].stack, config::join(config::join("stacks", i), "stack"),
                 catalogue, problems);
    }
  });
}

RunRules read_run_rules(const config::Catalogue& catalogue, const std::string& name_or_path) {
  return load_run_rules(config::load(config::find(catalogue, config::Kind::runs, name_or_path)), catalogue);
}

}  // namespace trainyard
