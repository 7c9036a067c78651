#pragma once
// report.html of a sweep: its rows, scaling curves, the limits of scaling and the points to choose, as one
// page for a browser without a network.

#include "html/sweep_origin.hpp"
#include "sweep/sweep_result.hpp"

#include <string>

namespace trainyard {

/// The whole file. The text depends only on these arguments, not on the order in which points were run.
std::string sweep_html(const SweepResult& result, const SweepOrigin& origin);

}  // namespace trainyard
