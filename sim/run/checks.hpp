#pragma once
// Properties that every run must have, whatever was simulated. A violation is this program's bug, never the
// user's.

#include "engine/engine.hpp"
#include "schedule/step_plan.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Sentences naming the violated properties; empty if there are none: no collective faster than its bound, no
/// step shorter than the ideal engine's, every byte sent carried by every link on its way, no two tasks at
/// once on one stream. `is_shared`: others have sent over the same links, which may then have carried more.
std::vector<std::string> violations(const StepPlan& plan, const Timeline& timeline, Seconds lower_bound,
                                    bool is_shared);

}  // namespace trainyard
