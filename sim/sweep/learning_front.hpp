#pragma once
// Of a sweep whose points learn: which of them are fast, which learn well, and which are neither.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <vector>

namespace trainyard {

/// Rows that no other beats in time to target and final loss (medians of their repeats): as good in both and
/// better in one. Without any time to target in the sweep, the time of an update takes its place. By time.
/// Rows whose final loss is unknown, as all do that diverged, are left out; so are those that did not reach
/// the target. Empty for sweeps that do not learn.
std::vector<std::size_t> learning_front(const SweepResult& result);

/// Whether rows are compared by their time to target.
bool has_target(const SweepResult& result);

}  // namespace trainyard
