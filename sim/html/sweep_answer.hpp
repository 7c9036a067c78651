#pragma once
// The head of a sweep's page: the conclusions from its points.

#include "document/html.hpp"
#include "sweep/sweep_result.hpp"

namespace trainyard {

/// The points to choose, or without times of a training the point with the highest throughput.
Html best_points_html(const SweepResult& result);

/// The same; where scaling stops; how predictions compare with published figures. Empty if no point is
/// finished.
Html sweep_answer(const SweepResult& result);

/// The expected error of the points, and what a utilization above 100 % means. Empty if no point is finished.
Html sweep_caveats(const SweepResult& result);

}  // namespace trainyard
