#pragma once
// The points of a sweep that learn fast, or well: the fronts of a sweep of learners.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <vector>

namespace trainyard {

/// Rows that no other beats in time to target, final loss and the simulated time after which that loss was
/// measured (medians of their repeats): as good in all and better in one. A loss is thus beaten only by one
/// that took no longer; if all points learn for the same time, time to target and loss decide. Without any
/// time to target in the sweep, the time of an update takes its place. By time. Rows whose final loss is
/// unknown, as it is for all that diverged, are left out; so are those that did not reach the target. Empty
/// for sweeps that do not learn.
std::vector<std::size_t> learning_front(const SweepResult& result);

/// The front with the time of an update in place of the time to target, for all rows with a final loss: the
/// error-runtime trade-off of Dutta et al. (arXiv 1803.01113).
std::vector<std::size_t> error_runtime_front(const SweepResult& result);

/// Whether rows are compared by their time to target.
bool has_target(const SweepResult& result);

}  // namespace trainyard
