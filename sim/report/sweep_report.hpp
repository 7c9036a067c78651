#pragma once
// A sweep for people (its rows, the limits of scaling, and the points to choose), as CSV and as JSON in SI
// base units.

#include "sweep/sweep_result.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace trainyard {

/// The table's head, its rows in order, and below it conclusions from all rows. `most_rows`: with more rows
/// than this, only those on the Pareto front are shown, and the reasons of all that failed. `by`: a varied
/// key; table and conclusions are repeated for each of its values, and the best points of all follow.
std::string sweep_text(const SweepResult& result, std::size_t most_rows, const PrintStyle& style = {},
                       const std::optional<std::string>& by = {});

/// A row in the columns of the table, or why it failed: for watching a sweep.
std::string sweep_line(const SweepResult& result, const SweepRow& row);

/// sweep.csv: for each finished point its number, the varied keys, the figures (one that is also a key
/// appears once), and values derived from all rows: samples per dollar and per joule, energy of an epoch,
/// speedup and efficiency relative to the smallest run of the series, and whether a point is on the Pareto
/// front of time, cost, energy and accuracy.
std::string sweep_csv(const SweepResult& result);

/// failures.csv: for each failed point its number, the varied keys, the exit code of a run of the point
/// alone, and the reason.
std::string failures_csv(const SweepResult& result);

/// {schema_version, sweep, keys, points, done, failed, rows: [{point, keys: {}, figures ...}], failures:
/// [{point, keys, exit_code, reason}], best: {fastest, cheapest, least_energy, most_accurate}, pareto:
/// [point], series:
/// [{name, points, scales_to: {efficiency_min, ranks, error: {share, ranks_low, ranks_high, is_open}}}],
/// published: as published_json (sweep_published.hpp)};
/// `ranks` null: not even the smallest run; `error` null: unknown
nlohmann::ordered_json sweep_json(const SweepResult& result);

}  // namespace trainyard
