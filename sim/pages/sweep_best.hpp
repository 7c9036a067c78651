#pragma once
// The best points of a sweep: fastest, cheapest, least energy, and those on the Pareto front.

#include "pages/sweep_place.hpp"
#include "sweep/run_sweep.hpp"

#include <string>

namespace trainyard {

/// The points to choose, of each section of the report's tables if the sweep has them: other models do not
/// compete. For models without an epoch the highest throughput, without tables on a page alone.
void add_best(const Place& place, const SweepResult& result);

/// The best point of a result: "fastest: nodes=8: 90 epochs in 45 min 03 s".
std::string best_in_words(const SweepResult& result);

}  // namespace trainyard
