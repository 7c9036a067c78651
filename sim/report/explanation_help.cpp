// The gains of an explanation's changes.

#include "report/explanation.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace trainyard {

std::vector<const WhatIfRow*> largest_gains(const Run& run, const std::vector<WhatIfRow>& rows,
                                            std::size_t most) {
  std::vector<const WhatIfRow*> best;
  std::set<std::string> changed;
  for (const WhatIfRow& row : rows) {
    const auto is_changed = [&](const auto& set) { return changed.contains(set.first); };
    if (best.size() == most || gain(run, row).value_or(0) < least_gain) continue;
    if (std::ranges::any_of(row.what.set, is_changed)) continue;
    for (const auto& [key, value] : row.what.set) changed.insert(key);
    best.push_back(&row);
  }
  return best;
}

std::string gain_in_words(double gain) {
  return gain < 1 ? signed_percent(gain) : rounded(1 + gain) + " times";
}

std::string help_in_words(const ExplainedRun& explained) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> helpful;
  for (const WhatIfRow* row : largest_gains(explained.run, explained.changes, most_named)) {
    helpful.push_back(
        fmt::format("{} ({} samples/s)", row->what.change, gain_in_words(*gain(explained.run, *row))));
  }
  if (helpful.empty()) return "None of these changes gains 0.5 % or more.";
  return fmt::format(
      "Largest gains: {}{}", fmt::join(helpful, ", then "),
      helpful.size() < most_named ? ". Every other kind of change gains less than 0.5 %." : ".");
}

std::optional<double> gain(const Run& run, const WhatIfRow& row) {
  if (!row.throughput) return std::nullopt;
  return *row.throughput / run.pace.throughput - 1;
}

bool differs_from_saved(const ExplainedRun& explained) {
  if (!explained.saved_step_time) return false;
  constexpr double digits = 1e-11;  // precision of summary.json
  return std::abs(*explained.saved_step_time / explained.run.pace.time - 1) > digits;
}

}  // namespace trainyard
