#include "rules/machine_rules.hpp"

#include "compute/gpu_profile.hpp"
#include "config/read.hpp"
#include "platform/load.hpp"
#include "rules/rule_settings.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

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

/// "v100_sxm2_" of "v100_sxm2_16gb"; empty if the name does not end with a memory.
std::string_view board_of(std::string_view profile) {
  if (!profile.ends_with("gb")) return {};
  profile.remove_suffix(2);
  const std::size_t last = profile.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == profile.size() || profile[last] != '_') return {};
  return profile.substr(0, last + 1);
}

class Memories {
public:
  explicit Memories(const config::Catalogue& catalogue) : catalogue_(catalogue) {}

  /// The rule with its memory, and those for the same board with other memories.
  std::vector<MachineRule> variants(MachineRule rule) {
    config::Document document = config::load(config::find(catalogue_, config::Kind::platform, rule.platform));
    for (const auto& [changed, value] : rule.set) config::set(document, changed, value, "platform");
    const Platform platform = load_platform(document);
    if (platform.ranks_on_processors) return {std::move(rule)};
    rule.memory = memory_of(platform.gpu_profile);
    std::vector<MachineRule> variants{rule};
    const std::string_view board = board_of(platform.gpu_profile);
    for (const std::string& profile : config::names(catalogue_, config::Kind::gpu)) {
      if (board.empty() || board_of(profile) != board || profile == platform.gpu_profile) continue;
      MachineRule& other = variants.emplace_back(rule);
      other.set["node.gpus.profile"] = profile;
      other.memory = memory_of(profile);
    }
    return variants;
  }

private:
  double memory_of(const std::string& profile) {
    const auto [known, is_new] = memories_.try_emplace(profile);
    if (is_new) {
      constexpr double gib = 1 << 30;
      const auto file = config::find(catalogue_, config::Kind::gpu, profile);
      known->second = load_gpu_facts(config::load(file)).memory.capacity.value.si() / gib;
    }
    return known->second;
  }

  const config::Catalogue& catalogue_;
  std::map<std::string, double> memories_;  ///< by profile
};

}  // namespace

MachineRules load_machine_rules(const config::Document& document, const config::Catalogue& catalogue) {
  auto rules =
      config::read<MachineRules>(document, [&](const MachineRules& read, config::Problems& problems) {
        problems.check_name(read.name);
        for (std::size_t i = 0; i < read.machines.size(); ++i)
          check_platform(read.machines[i], i, catalogue, problems);
      });
  Memories memories(catalogue);
  std::vector<MachineRule> machines;
  for (MachineRule& rule : rules.machines) {
    for (MachineRule& variant : memories.variants(std::move(rule))) machines.push_back(std::move(variant));
  }
  rules.machines = std::move(machines);
  return rules;
}

}  // namespace trainyard
