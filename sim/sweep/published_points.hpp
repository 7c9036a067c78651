#pragma once
// The points that published values of a sweep's file belong to.

#include "config/problems.hpp"
#include "sweep/sweep.hpp"

#include <vector>

namespace trainyard {

/// The published values of a file at the points of its sweep, in the file's order. A value is at every point
/// that meets its pattern, and nowhere if its point, or the one it is relative to, is not in the sweep.
std::vector<PublishedPoint> published_points(const SweepFile& file, const Sweep& sweep);

/// Reports figures that sweeps do not have, values that are not at exactly one point, and values that are not
/// relative to exactly one other point. Nothing about points if the file has none.
void check_published_points(const SweepFile& file, config::Problems& problems);

/// Reports a name that is no figure of sweeps.
void check_sweep_figure(const std::string& figure, const std::string& at, config::Problems& problems);

/// Removes the published values of a file whose points have changed that are no longer at one point. Throws
/// like make_sweep.
void keep_published_points(SweepFile& file);

}  // namespace trainyard
