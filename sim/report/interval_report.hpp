#pragma once
// The expected errors of validated runs, of whatever kind, in a table and as JSON.

#include "published/run_intervals.hpp"
#include "report/page.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// A line for each family and for all runs (`of_all` names it), after a comment about the runs: `what`.
/// `other`: what is held out, "series" or "family". Empty without coverages.
std::string interval_table(const CoverageByFamily& coverages, std::string_view what, std::string_view other,
                           std::string_view of_all, const PrintStyle& style);

/// share, overall and families; null without coverages.
nlohmann::ordered_json intervals_json(const CoverageByFamily& coverages);

/// Sets `low`, `high`, `inside`, `low_held_out`, `high_held_out` and `inside_held_out` of a row, or null.
void add_interval(nlohmann::ordered_json& row, const std::optional<RunInterval>& interval);

/// The rows of `validate --json` as CSV: those of training runs, then those of runs whose ranks share a model
/// (`layouts` may be null). Cells are empty where JSON has null.
std::string validated_runs_csv(const nlohmann::ordered_json& training, const nlohmann::ordered_json& layouts);

}  // namespace trainyard
