#include "published/run_intervals.hpp"

#include "published/run_rules.hpp"
#include "units/statistics.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace trainyard {
namespace {

double half_of(const ExpectedError& interval) { return (interval.high - interval.low) / 2; }

}  // namespace

bool is_inside(const RunInterval& run) { return covers(run.printed, run.ratio); }

bool is_inside_held_out(const RunInterval& run) { return run.held_out && covers(*run.held_out, run.ratio); }

IntervalCoverage coverage_of(const std::vector<const RunInterval*>& runs) {
  IntervalCoverage coverage{.runs = static_cast<int>(runs.size())};
  std::vector<double> halves;
  std::vector<double> held_out;
  int covered = 0;
  int covered_held_out = 0;
  for (const RunInterval* run : runs) {
    covered += is_inside(*run) ? 1 : 0;
    halves.push_back(half_of(run->printed));
    if (!run->held_out) continue;
    covered_held_out += is_inside_held_out(*run) ? 1 : 0;
    held_out.push_back(half_of(*run->held_out));
  }
  coverage.covered = 1.0 * covered / coverage.runs;
  coverage.half_width = quantile(halves, 0.5);
  if (held_out.empty()) return coverage;
  coverage.held_out_runs = static_cast<int>(held_out.size());
  coverage.held_out_covered = 1.0 * covered_held_out / coverage.held_out_runs;
  coverage.held_out_half_width = quantile(held_out, 0.5);
  return coverage;
}

CoverageByFamily coverage_by_family(const std::vector<FamilyRule>& rules,
                                    const std::vector<std::pair<std::string, const RunInterval*>>& runs) {
  std::map<std::string, std::vector<const RunInterval*>> by_family;
  for (const auto& [family, run] : runs) {
    by_family[family].push_back(run);
    by_family[{}].push_back(run);
  }
  CoverageByFamily coverages;
  const auto add = [&](const std::string& family) {
    const auto found = by_family.find(family);
    if (found == by_family.end()) return;
    coverages.emplace_back(family, coverage_of(found->second));
    by_family.erase(found);  // several rules may have the same family
  };
  for (const FamilyRule& rule : rules) add(rule.family);
  add({});
  return coverages;
}

std::string place_of(const PublishedRow& row) {
  return fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line);
}

const std::vector<PublishedRow>& shipped_rows(const PublishedData& data) {
  return data.lookup.empty() ? data.rows : data.lookup;
}

}  // namespace trainyard
