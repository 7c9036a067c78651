#pragma once
// A sweep as CSV: sweep.csv with a row for each finished point, failures.csv with one for each failed one.

#include "sweep/sweep_result.hpp"

#include <string>

namespace trainyard {

/// point, the varied keys, the figures (one that is also a key appears once), and values derived from all
/// rows: samples per dollar and per joule, energy of an epoch, speedup and efficiency relative to the
/// smallest run of the series, and whether a point is on the Pareto front of time, cost and energy.
std::string sweep_csv(const SweepResult& result);

/// point, the varied keys, the exit code of a run of the point alone, and the reason.
std::string failures_csv(const SweepResult& result);

}  // namespace trainyard
