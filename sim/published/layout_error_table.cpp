#include "published/layout_error_table.hpp"

#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace trainyard {
namespace {

/// Those that count in the totals, in the order of their numbers in a table, from 1.
std::vector<std::string> counted_families(const std::vector<FamilyRule>& rules) {
  std::vector<std::string> families;
  for (const FamilyRule& rule : rules) {
    // several rules may have the same family
    const bool is_new = std::ranges::find(families, rule.family) == families.end();
    if (is_new && rule.not_in_totals.empty()) families.push_back(rule.family);
  }
  return families;
}

PublishedErrors without(const PublishedErrors& all, int series) {
  PublishedErrors rest = all;
  rest.known.reset();
  std::erase_if(rest.runs, [&](const PublishedError& run) { return run.series == series; });
  rest.widening = widening_of(rest);
  return rest;
}

}  // namespace

PublishedErrors layout_errors(const LayoutValidation& validation, LayoutFit fit) {
  PublishedErrors errors{.fit = std::string(config::name_of(fit))};
  const std::vector<std::string> families = counted_families(validation.data->run_rules.families);
  for (const ScoredLayout& scored : validation.runs) {
    const auto& throughput = scored.prediction(fit).throughput;
    if (!throughput || !scored.of.layout || scored.family == nullptr) continue;
    const auto family = std::ranges::find(families, scored.family->family);
    if (family == families.end()) continue;
    errors.runs.push_back({.of = scored.of,
                           .series = static_cast<int>(family - families.begin()) + 1,
                           .measured = scored.run.measured,
                           .predicted = *throughput,
                           .place = place_of(*scored.run.row)});
  }
  errors.widening = widening_of(errors);
  return errors;
}

std::vector<std::optional<RunInterval>> layout_intervals(const LayoutValidation& validation, LayoutFit fit) {
  std::vector<std::optional<RunInterval>> intervals(validation.runs.size());
  const auto& shipped = validation.shipped_errors[static_cast<std::size_t>(fit)];
  if (!shipped) return intervals;
  const auto& rules = validation.data->run_rules.families;
  const auto numbers = shipped_series<std::string>(*shipped, *validation.data, [&](const PublishedRow& row) {
    const FamilyRule* family = first_match(rules, row);
    return family == nullptr ? std::nullopt : std::optional(family->family);
  });
  std::map<int, PublishedErrors> without_family;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const ScoredLayout& scored = validation.runs[i];
    const auto& throughput = scored.prediction(fit).throughput;
    if (!throughput || !scored.of.layout) continue;
    const auto printed = expected_error(*shipped, scored.of);
    if (!printed) continue;
    RunInterval& its = intervals[i].emplace(RunInterval{
        .ratio = scored.run.measured / *throughput - 1, .printed = *printed, .held_out = printed});
    if (scored.family == nullptr) continue;
    const auto number = numbers.find(scored.family->family);
    if (number == numbers.end()) continue;
    auto others = without_family.find(number->second);
    if (others == without_family.end())
      others = without_family.emplace(number->second, without(*shipped, number->second)).first;
    its.held_out = expected_error(others->second, scored.of);
  }
  return intervals;
}

CoverageByFamily layout_coverage(const LayoutValidation& validation, LayoutFit fit) {
  const auto intervals = layout_intervals(validation, fit);
  std::vector<std::pair<std::string, const RunInterval*>> counted;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const FamilyRule* family = validation.runs[i].family;
    if (intervals[i] && family != nullptr && family->not_in_totals.empty())
      counted.emplace_back(family->family, &*intervals[i]);
  }
  return coverage_by_family(validation.data->run_rules.families, counted);
}

}  // namespace trainyard
