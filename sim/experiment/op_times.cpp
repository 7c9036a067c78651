#include "experiment/op_times.hpp"

#include <algorithm>

namespace trainyard {

namespace {

double attention_scale(const Stack& stack, const Op& op) {
  if (op.kind != OpKind::attention) return 1;
  const bool is_backward = op.phase == Phase::backward && op.role != OpRole::recompute;
  return is_backward ? stack.attention_scale.backward.value : stack.attention_scale.forward.value;
}

}  // namespace

std::vector<OpTime> op_times(const Trace& trace, const GpuProfile& gpu, const Stack& stack) {
  const Precision precision = trace.precision.value_or(Precision::fp32);
  const Seconds overhead = op_overhead(stack);
  std::vector<OpTime> times;
  times.reserve(trace.ops.size());
  for (const Op& op : trace.ops) {
    OpTime time = op_time(gpu, precision, op, stack.layout);
    // The software's overhead is already part of a duration in the trace, which was measured with it or
    // computed by an earlier run.
    if (op.duration) {
      time.kernel = op.kernel;
    } else {
      const double slowdown = stack.slowdown.factor[group_of(op.kind)];
      const double scale = stack.compute_scale.value * attention_scale(stack, op);
      time.kernel = scale * slowdown * time.duration;
      time.duration = time.kernel + overhead + op.gaps;
    }
    time.slowest_gpu = (stack.slowest_gpu - 1) * time.kernel;
    time.duration += time.slowest_gpu;
    if (stack.overlap_slows) {
      time.use = use_of(gpu, precision, op);
      time.use.persistent = is_persistent(stack.persistent_kernels, op.kind, precision);
      time.overhead = std::min(overhead, time.duration);
    }
    times.push_back(time);
  }
  return times;
}

}  // namespace trainyard
