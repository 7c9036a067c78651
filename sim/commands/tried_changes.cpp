#include "commands/tried_changes.hpp"

#include "cli/terminal.hpp"
#include "config/keys.hpp"
#include "experiment/one_gpu.hpp"
#include "run/child_processes.hpp"
#include "run/memory_verdict.hpp"

#include <fmt/format.h>
#include <stdexcept>
#include <utility>

namespace trainyard {

bool is_simulated(const ResolvedExperiment& resolved) {
  return !resolved.model || resolved.settings.memory != MemoryCheck::check ||
         fullest(memory_reports(resolved)).fits;
}

Overrides overrides_for_changes(const ResolvedExperiment& resolved, Overrides overrides) {
  if (!resolved.settings.one_gpu) return overrides;
  std::erase_if(overrides, [](const auto& set) { return set.first.starts_with("one_gpu"); });
  for (auto& kept : kept_one_gpu(resolved)) overrides.push_back(std::move(kept));
  return overrides;
}

PageChanges changes_for_page(const AskedExperiment& asked, const SimulateOptions& how) {
  if (!is_simulated(asked.resolved)) return {};  // the run will say so
  if (is_multi_update(asked.resolved.settings)) {
    return {.why_none =
                "None was tried for this page: each takes as long as a run of many updates. trainyard "
                "explain tries them, with the folder of this page as its argument."};
  }
  const Fidelity fidelity = how.fidelity.value_or(asked.resolved.settings.fidelity);
  if (fidelity != Fidelity::closed && fidelity != Fidelity::flow) {
    return {.why_none = fmt::format("None was tried for this page, because fidelity {} takes long. trainyard "
                                    "explain tries them, with the "
                                    "folder of this page as its argument.",
                                    config::name_of(fidelity))};
  }
  Overrides overrides = overrides_for_changes(asked.resolved, asked.overrides);
  if (how.fidelity) overrides.emplace_back("fidelity", config::name_of(*how.fidelity));
  try {
    return {.rows = what_would_help(asked.catalogue, asked.experiment, overrides, asked.resolved, asked.files,
                                    processors())};
  } catch (const std::runtime_error& error) {  // the run itself is not to be lost
    print_message(fmt::format("warning: report.html lacks the changes that would help: {}", error.what()));
    return {.why_none = "They could not be simulated."};
  }
}

PageChanges worth_showing(PageChanges changes, const Run& run) {
  if (updates_of(run) == nullptr) drop_chosen(run, changes.rows);
  drop_needless_pairs(changes.rows);
  return changes;
}

}  // namespace trainyard
