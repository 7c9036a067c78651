#pragma once
// The cost of a plan's search.

#include "limits/forecast.hpp"
#include "plan/plan_space.hpp"

namespace trainyard {

/// A search that plans every layout whose memory fits, and simulates as many as searches usually do: of each
/// group those with the least bounds; then some of the best group again, to be compared, and
/// `with_changes` some on machines that are a little different. `parallel`: processes that share it.
Work work_of_search(const PlanSpace& space, bool with_changes, int parallel);

}  // namespace trainyard
