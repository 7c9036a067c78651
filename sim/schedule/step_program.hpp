#pragma once
// What one rank does in a step: its compute ops, and its part in the collectives that the step launches, on
// the streams of a task graph.

#include "schedule/launches.hpp"
#include "schedule/task_graph.hpp"

#include <span>

namespace trainyard {

/// What a rank does that others do not.
struct Role {
  bool is_root = true;     ///< of broadcasts
  bool is_updated = true;  ///< it runs the optimizer; otherwise its step ends with the last collective
};

/// Compute ops in trace order on the compute stream, launches in their order on the communication stream,
/// waits for Horovod's ticks on the host's. The first op waits for the launches of the step's beginning, the
/// optimizer for all; a micro-batch for the launches before that hold it.
Program step_program(const Trace& trace, std::span<const OpTime> times, std::span<const Launch> launches,
                     Role role);

}  // namespace trainyard
