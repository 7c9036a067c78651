#pragma once
// The length of a step's longest path: a replay in which every task has a fixed time needs no calendar.

#include "schedule/task_graph.hpp"

#include <optional>

namespace trainyard {

/// The makespan of run() with fidelity `closed`, to the bit, without a replay where nothing slows kernels.
/// Throws as run().
Seconds closed_makespan(const TaskGraph& graph, const StepVariant& variant = {});

namespace engine {

/// The makespan as the longest path; empty where tasks have no fixed times (kernels slowed by other work,
/// several jobs, links that change) or where some never end.
std::optional<Seconds> fixed_makespan(const TaskGraph& graph, const StepVariant& variant);

}  // namespace engine

}  // namespace trainyard
