#pragma once
// A sweep for people: its rows, where scaling stops, and which point to take.

#include "sweep/sweep_result.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The table's head, its rows in their order, and below it what the rows together say. `most_rows`: with more
/// rows than this, only those that are on the Pareto front.
std::string sweep_text(const SweepResult& result, std::size_t most_rows, bool colour);

/// A row in the columns of the table, or why it failed: for watching a sweep.
std::string sweep_line(const SweepResult& result, const SweepRow& row);

}  // namespace trainyard
