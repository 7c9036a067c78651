#pragma once
// One rank's work in a step: its compute ops, and its part in the collectives that the step launches, on the
// streams of a task graph.

#include "schedule/launches.hpp"
#include "schedule/task_graph.hpp"

#include <span>

namespace trainyard {

/// The tasks that distinguish a rank from others.
struct Role {
  bool is_root = true;     ///< for broadcasts
  bool is_updated = true;  ///< it runs the optimizer; otherwise its step ends with the last collective
};

/// Compute ops in trace order on the compute stream, launches in order on the stream of their group, waits
/// for Horovod's ticks on the host's. An op waits for the launches that it needs, the optimizer for all.
Program step_program(const Trace& trace, std::span<const OpTime> times, std::span<const Launch> launches,
                     Role role);

}  // namespace trainyard
