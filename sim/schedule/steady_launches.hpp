#pragma once
// The host that launches the kernels of a step, in a series of equal steps on one GPU. step_program.hpp has
// the same rules for the engine.

#include "compute/op_time.hpp"
#include "workload/trace.hpp"

#include <span>
#include <vector>

namespace trainyard {

struct SteadyLaunches {
  Seconds step;   ///< from the end of one to that of the next
  Seconds waits;  ///< the part in which the GPU waits for the host
  Seconds lead;   ///< the host's work for a step that is done when the GPU begins it
};

/// Whether a host launches the ops of a trace.
bool has_host(const Trace& trace);

/// The host launches ops in order, each for its time, and is between steps for the trace's; a kernel starts
/// when the one before has ended and its launch has reached the GPU; the host waits for the end of ops that
/// synchronise, and while the queue has no place. Steps overlap otherwise. The dates of the host are those at
/// which its launches reach the GPU. `times`: of the ops.
SteadyLaunches steady_launches(const Trace& trace, std::span<const OpTime> times);

/// The same for one GPU of mean speed alone: without the ops of steps of several ranks.
SteadyLaunches steady_launches_alone(const Trace& trace, std::span<const OpTime> times);

/// For each op the op that must have begun before it can be launched, so that with it no more launches wait
/// than the queue has places: an index in a series of equal steps, negative in those before. An op of more
/// launches than places waits for the op before it. Empty if any number may wait.
std::vector<int> ops_before_launch(const Trace& trace);

}  // namespace trainyard
