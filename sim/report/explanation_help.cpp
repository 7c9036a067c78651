// The gains of an explanation's changes.

#include "report/explanation.hpp"
#include "report/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace trainyard {

std::string help_in_words(const ExplainedRun& explained) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> helpful;
  std::set<std::string> changed;  // only the best of several changes to one key is named
  for (const WhatIfRow& row : explained.changes) {
    const std::optional<double> more = gain(explained, row);
    const auto is_changed = [&](const auto& set) { return changed.contains(set.first); };
    if (!more || *more < least_gain || helpful.size() == most_named) continue;
    if (std::ranges::any_of(row.what.set, is_changed)) continue;
    for (const auto& [key, value] : row.what.set) changed.insert(key);
    const std::string by = *more < 1 ? signed_percent(*more) : rounded(1 + *more) + " times";
    helpful.push_back(fmt::format("{} ({} samples/s)", row.what.change, by));
  }
  if (helpful.empty()) return "None of these changes gains 0.5 % or more.";
  return fmt::format(
      "Largest gains: {}{}", fmt::join(helpful, ", then "),
      helpful.size() < most_named ? ". Every other kind of change gains less than 0.5 %." : ".");
}

std::optional<double> gain(const ExplainedRun& explained, const WhatIfRow& row) {
  if (!row.throughput) return std::nullopt;
  return *row.throughput / explained.run.pace.throughput - 1;
}

bool differs_from_saved(const ExplainedRun& explained) {
  if (!explained.saved_step_time) return false;
  constexpr double digits = 1e-11;  // precision of summary.json
  return std::abs(*explained.saved_step_time / explained.run.pace.time - 1) > digits;
}

}  // namespace trainyard
