#pragma once
// Time of an op on a GPU: the first of a measured table for its shape, a curve fitted for its class, a roofline.

#include "compute/gpu_profile.hpp"
#include "workload/trace.hpp"

namespace trainyard {

struct OpTime {
  Seconds duration;
  ComputeSource source{};
};

/// The duration of one op on `gpu` in `precision` and what it rests on. An op that carries a duration keeps it.
OpTime op_time(const GpuProfile& gpu, Precision precision, const Op& op);

}  // namespace trainyard
