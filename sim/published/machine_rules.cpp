#include "published/machine_rules.hpp"

#include "config/read.hpp"
#include "platform/load.hpp"
#include "published/rule_settings.hpp"

#include <cstddef>

namespace trainyard {
namespace {

/// Reports a platform that does not exist or does not accept the keys of `set`.
void check_platform(const MachineRule& rule, std::size_t index, const config::Catalogue& catalogue,
                    config::Problems& problems) {
  const std::string path = config::join("machines", index);
  const auto file = file_of_rule(catalogue, config::Kind::platform, rule.platform,
                                 config::join(path, "platform"), problems);
  if (!file || rule.set.empty()) return;
  try {
    config::Document document = config::load(*file);
    for (const auto& [changed, value] : rule.set) config::set(document, changed, value, "platform");
    load_platform(document);
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    problems.error(config::join(path, "set"), first.message, first.hint);
  }
}

}  // namespace

MachineRules load_machine_rules(const config::Document& document, const config::Catalogue& catalogue) {
  return config::read<MachineRules>(document, [&](const MachineRules& read, config::Problems& problems) {
    problems.check_name(read.name);
    for (std::size_t i = 0; i < read.machines.size(); ++i)
      check_platform(read.machines[i], i, catalogue, problems);
  });
}

}  // namespace trainyard
