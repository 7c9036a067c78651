#pragma once
// A step small enough to be added up by hand.

#include "compute/gpu_profile.hpp"
#include "workload/trace.hpp"

#include <string>
#include <utility>

namespace trainyard::testing {

/// Two layers of 8 ms each way with 1 M and 100 M parameters, then an optimizer step.
inline Trace two_layers() {
  Trace trace{.model = "two", .batch_per_gpu = 4, .precision = Precision::fp32, .ops = {}};
  const auto add = [&](Phase phase, std::string layer, double parameters) {
    Op op;
    op.phase = phase;
    op.layer = std::move(layer);
    op.kind = OpKind::measured;
    op.duration = Seconds{8e-3};
    if (parameters > 0) op.gradients = {{op.layer + ".weight", parameters}};
    trace.ops.push_back(op);
  };
  add(Phase::forward, "first", 0);
  add(Phase::forward, "last", 0);
  add(Phase::backward, "last", 1e6);
  add(Phase::backward, "first", 100e6);
  add(Phase::optimizer, "update", 0);
  return trace;
}

/// 1 TB/s, all of which elementwise ops reach, without a fixed time.
inline GpuProfile round_gpu() {
  GpuProfile gpu;
  gpu.memory.bandwidth.value = Bandwidth{1e12};
  gpu.matrix.fp32.peak.value = FlopRate{1e13};
  gpu.vector.elementwise = {.value = 1.0, .provenance = Provenance::assumed, .source = "test"};
  return gpu;
}

}  // namespace trainyard::testing
