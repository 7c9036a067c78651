#pragma once
// report.html of a sweep: its rows, scaling curves, the limits of scaling and the points to choose, as one
// page for a browser without a network.

#include "html/sweep_origin.hpp"
#include "sweep/sweep_result.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// The whole file. The text depends only on these arguments, not on the order in which points were run. `by`:
/// a varied key; conclusions and curves are repeated for each of its values, and the points stand and are
/// coloured by it.
std::string sweep_html(const SweepResult& result, const SweepOrigin& origin,
                       const std::optional<std::string>& by = {});

}  // namespace trainyard
