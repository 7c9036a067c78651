#pragma once
// A sweep as CSV and as JSON in SI base units.

#include "sweep/sweep_result.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

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
