#include "published/layout_error_table.hpp"

#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace trainyard {
namespace {

struct LayoutErrorTable {
  PublishedErrors errors;
  std::vector<std::string> families;  ///< by number of the series, from 1
};

LayoutErrorTable error_table(const LayoutValidation& validation, LayoutFit fit) {
  LayoutErrorTable table;
  table.errors.fit = config::name_of(fit);
  for (const FamilyRule& rule : validation.data->run_rules.families) {
    // several rules may have the same family
    const bool is_new = std::ranges::find(table.families, rule.family) == table.families.end();
    if (is_new && rule.not_in_totals.empty()) table.families.push_back(rule.family);
  }
  for (const ScoredLayout& scored : validation.runs) {
    const auto& throughput = scored.prediction(fit).throughput;
    if (!throughput || !scored.of.layout || scored.family == nullptr) continue;
    const auto family = std::ranges::find(table.families, scored.family->family);
    if (family == table.families.end()) continue;
    const PublishedRow& row = *scored.run.row;
    table.errors.runs.push_back(
        {.of = scored.of,
         .series = static_cast<int>(family - table.families.begin()) + 1,
         .measured = scored.run.measured,
         .predicted = *throughput,
         .place = fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line)});
  }
  table.errors.widening = widening_of(table.errors);
  return table;
}

PublishedErrors without(const PublishedErrors& all, int series) {
  PublishedErrors rest = all;
  std::erase_if(rest.runs, [&](const PublishedError& run) { return run.series == series; });
  rest.widening = widening_of(rest);
  return rest;
}

}  // namespace

PublishedErrors layout_errors(const LayoutValidation& validation, LayoutFit fit) {
  return error_table(validation, fit).errors;
}

std::vector<std::pair<std::string, IntervalCoverage>> layout_coverage(const LayoutValidation& validation,
                                                                      LayoutFit fit) {
  if (fit == LayoutFit::one_layout) return {};
  const LayoutErrorTable table = error_table(validation, fit);
  using Covered = std::vector<std::pair<const PublishedError*, ExpectedError>>;
  Covered all;
  std::vector<std::pair<std::string, IntervalCoverage>> coverages;
  for (std::size_t i = 0; i < table.families.size(); ++i) {
    const int series = static_cast<int>(i) + 1;
    const PublishedErrors others = without(table.errors, series);
    Covered covered;
    for (const PublishedError& run : table.errors.runs) {
      if (run.series != series) continue;
      if (const auto expected = expected_error(others, run.of)) covered.emplace_back(&run, *expected);
    }
    if (covered.empty()) continue;
    coverages.emplace_back(table.families[i], coverage_of(covered));
    all.insert(all.end(), covered.begin(), covered.end());
  }
  if (!all.empty()) coverages.emplace_back(std::string(), coverage_of(all));
  return coverages;
}

}  // namespace trainyard
