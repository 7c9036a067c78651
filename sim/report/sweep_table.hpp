#pragma once
// A sweep for people: its rows, the limits of scaling, and the points to choose.

#include "sweep/sweep_result.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The table's head, its rows in order, and below it conclusions from all rows. `most_rows`: with more rows
/// than this, only those on the Pareto front are shown.
std::string sweep_text(const SweepResult& result, std::size_t most_rows, bool colour);

/// A row in the columns of the table, or why it failed: for watching a sweep.
std::string sweep_line(const SweepResult& result, const SweepRow& row);

}  // namespace trainyard
