#pragma once
// Resources used by the process so far: the "simulation" part of the summary.

#include "report/summary_json.hpp"

namespace trainyard {

/// Wall time since the process started, CPU time and peak memory of the process.
ResourceUsage usage_so_far();

}  // namespace trainyard
