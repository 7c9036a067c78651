#pragma once
// The host that launches the kernels of a step, in a series of equal steps on one GPU.

#include "compute/op_time.hpp"
#include "workload/trace.hpp"

#include <span>

namespace trainyard {

struct SteadyLaunches {
  Seconds step;   ///< from the end of one to that of the next
  Seconds waits;  ///< the part in which the GPU waits for the host
  Seconds lead;   ///< of the host when the GPU begins a step: it has launched kernels of it before
};

/// The host launches ops in order, each for its time, and is between steps for the trace's; a kernel starts
/// when the one before has ended and it has been launched; the host waits for the end of ops that
/// synchronise. Steps overlap otherwise. The queue of launches is not bounded. `times`: of the ops.
SteadyLaunches steady_launches(const Trace& trace, std::span<const OpTime> times);

}  // namespace trainyard
