#include "study/machine_rules.hpp"

#include "config/read.hpp"
#include "platform/load.hpp"
#include "study/stated_software.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace trainyard {
namespace {

/// `column` is in small letters.
bool meets(const std::vector<std::string>& texts, const std::string& column) {
  bool is_asked = false;
  bool is_met = false;
  for (const std::string& text : texts) {
    const bool is_forbidden = text.starts_with('!');
    const std::string sought = in_small_letters(std::string_view(text).substr(is_forbidden ? 1 : 0));
    const bool has = column.find(sought) != std::string::npos;
    if (is_forbidden && has) return false;
    if (is_forbidden) continue;
    is_asked = true;
    is_met = is_met || has;
  }
  return is_met || !is_asked;
}

/// Reports a platform that does not exist, or does not take what `set` says.
void check_platform(const MachineRule& rule, std::size_t index, const config::Catalogue& catalogue,
                    config::Problems& problems) {
  const std::string path = config::join("machines", index);
  std::string key = config::join(path, "platform");
  if (!problems.readable(key)) return;
  try {
    const auto file = config::find(catalogue, config::Kind::platform, rule.platform);
    if (rule.set.empty()) return;
    config::Document document = config::load(file);
    key = config::join(path, "set");
    for (const auto& [changed, value] : rule.set) config::set(document, changed, value, "platform");
    load_platform(document);
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    problems.error(key, first.message, first.hint);
  }
}

}  // namespace

bool matches(const RowPattern& pattern, const PublishedRow& row) {
  if (pattern.several_nodes && *pattern.several_nodes != (row.nodes > 1)) return false;
  const auto& numbers = pattern.gpus_per_node;
  if (!numbers.empty() && std::ranges::find(numbers, row.gpus_per_node) == numbers.end()) return false;
  return meets(pattern.gpu, in_small_letters(row.gpu)) &&
         meets(pattern.interconnect_intra, in_small_letters(row.interconnect_intra)) &&
         meets(pattern.interconnect_inter, in_small_letters(row.interconnect_inter)) &&
         meets(pattern.framework, in_small_letters(row.framework)) &&
         meets(pattern.year, in_small_letters(row.year)) &&
         meets(pattern.metric, in_small_letters(row.metric));
}

MachineRules load_machine_rules(const config::Document& document, const config::Catalogue& catalogue) {
  return config::read<MachineRules>(document, [&](const MachineRules& read, config::Problems& problems) {
    problems.check_name(read.name);
    for (std::size_t i = 0; i < read.machines.size(); ++i)
      check_platform(read.machines[i], i, catalogue, problems);
  });
}

}  // namespace trainyard
