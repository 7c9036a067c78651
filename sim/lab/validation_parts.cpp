#include "lab/validation_parts.hpp"

#include "units/lines.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace trainyard {

std::vector<const Family*> families_of(const Validation& validation) {
  std::set<const Family*> present;
  for (const ScoredCase& scored : validation.cases) {
    if (!is_memory(scored.of.figure)) present.insert(scored.family);
  }
  for (const MissedRow& row : validation.missed) present.insert(row.family);
  std::vector<const Family*> families;
  for (const bool counts : {true, false}) {
    for (const auto& family : validation.families) {
      if (family->not_in_totals.empty() == counts && present.contains(family.get()))
        families.push_back(family.get());
    }
  }
  return families;
}

bool has_totals(const Validation& validation) { return validation.kind != RowKind::targets; }

bool has_memory(const Validation& validation) {
  return validation.kind == RowKind::layouts || validation.kind == RowKind::reports ||
         std::ranges::any_of(validation.cases,
                             [](const ScoredCase& scored) { return is_memory(scored.of.figure); });
}

std::pair<std::optional<double>, std::optional<double>> ends_of(const PredictedCase& predicted) {
  if (predicted.ends.empty()) return {};
  const auto [low, high] = std::ranges::minmax_element(predicted.ends, {}, &PredictedEnd::value);
  return {low->value, high->value};
}

bool is_always_named(const ScoredCase& scored) {
  return scored.outlier != nullptr && scored.outlier->always_named;
}

std::vector<const ScoredCase*> outliers_of(const Validation& validation, Fit fit) {
  std::vector<const ScoredCase*> found;
  for (const ScoredCase& scored : validation.cases) {
    if (!scored.counts(fit) || is_memory(scored.of.figure)) continue;
    if (std::abs(scored.error(fit)) > far_off_run || is_always_named(scored)) found.push_back(&scored);
  }
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [&](const ScoredCase* run) { return std::abs(run->error(fit)); });
  return found;
}

std::string_view suspicion_of(const ScoredCase& scored) {
  return scored.outlier == nullptr ? std::string_view("unknown cause")
                                   : std::string_view(scored.outlier->reason);
}

std::map<std::string, int> left_out(const Validation& validation, Fit fit) {
  std::map<std::string, int> reasons = validation.excluded;
  for (const ScoredCase& scored : validation.cases) {
    const Verdict& verdict = scored.verdicts[fit];
    if (!verdict.excluded.empty())
      ++reasons[verdict.excluded];
    else if (!verdict.outcome.empty())
      ++reasons[verdict.outcome];
  }
  return reasons;
}

std::string reasons_text(const std::map<std::string, int>& reasons, const PrintStyle& style) {
  std::string text;
  for (const auto& [reason, rows] : reasons)
    text += hanging(fmt::format("{:>8}  ", rows), reason, style.width);
  return text;
}

MemoryVerdicts counts_of(const std::vector<const MemoryOutcome*>& outcomes) {
  MemoryVerdicts counts;
  for (const MemoryOutcome* outcome : outcomes) {
    ++(outcome->ran ? counts.ran : counts.failed);
    if (outcome->is_right()) ++(outcome->ran ? counts.accepted : counts.refused);
  }
  return counts;
}

std::map<std::pair<std::string, std::string>, std::vector<const MemoryOutcome*>> outcomes_by_software(
    const MemoryValidation& validation) {
  std::map<std::pair<std::string, std::string>, std::vector<const MemoryOutcome*>> groups;
  for (const MemoryOutcome& outcome : validation.outcomes)
    groups[{outcome.framework, std::string(config::name_of(outcome.of.precision))}].push_back(&outcome);
  return groups;
}

std::vector<const MemoryOutcome*> all_outcomes(const MemoryValidation& validation) {
  std::vector<const MemoryOutcome*> all;
  for (const MemoryOutcome& outcome : validation.outcomes) all.push_back(&outcome);
  return all;
}

}  // namespace trainyard
