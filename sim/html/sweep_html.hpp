#pragma once
// report.html of a sweep: its rows, scaling curves, where scaling stops and which point to take, as one page
// for a browser without a network.

#include "sweep/sweep_result.hpp"

#include <string>

namespace trainyard {

/// The whole file. `resolved`: the sweep's file with what the command line made of it; `version` is the
/// program's. The text depends on nothing but these, whatever order the points were run in.
std::string sweep_html(const SweepResult& result, const std::string& resolved, const std::string& version);

}  // namespace trainyard
