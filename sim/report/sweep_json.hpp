#pragma once
// A sweep as JSON, in SI base units.

#include "sweep/sweep_result.hpp"

#include <nlohmann/json_fwd.hpp>

namespace trainyard {

/// {schema_version, sweep, keys, points, done, failed, rows: [{point, keys: {}, figures ...}], failures:
/// [{point, keys, exit_code, reason}], best: {fastest, cheapest, least_energy}, pareto: [point], series:
/// [{name, points}]}
nlohmann::ordered_json sweep_json(const SweepResult& result);

}  // namespace trainyard
