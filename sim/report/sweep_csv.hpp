#pragma once
// A sweep as CSV: sweep.csv with a row for each point that is done, failures.csv with one for each that
// failed.

#include "sweep/sweep_result.hpp"

#include <string>

namespace trainyard {

/// point, the varied keys, the figures (those of the same name as a key once), and what only all rows
/// together tell: samples for a dollar and a joule, energy of an epoch, speedup and efficiency over the
/// smallest run of the series, and whether a point is on the Pareto front of time, cost and energy.
std::string sweep_csv(const SweepResult& result);

/// point, the varied keys, the exit code that a run of it alone has, and the reason.
std::string failures_csv(const SweepResult& result);

}  // namespace trainyard
