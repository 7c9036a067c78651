#pragma once
// Times of a trace's ops with a stack: the times of the GPU profile, slowed by the software.

#include "compute/gpu_profile.hpp"
#include "compute/op_time.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// The times of all ops, in the order of the trace. Throws as op_time().
std::vector<OpTime> op_times(const Trace& trace, const GpuProfile& gpu, const Stack& stack);

}  // namespace trainyard
