#pragma once
// report.html of a sweep: its rows, scaling curves, where scaling stops and which point to take, as one page
// for a browser without a network.

#include "html/sweep_origin.hpp"
#include "sweep/sweep_result.hpp"

#include <string>

namespace trainyard {

/// The whole file. The text depends on nothing but these, whatever order the points were run in.
std::string sweep_html(const SweepResult& result, const SweepOrigin& origin);

}  // namespace trainyard
