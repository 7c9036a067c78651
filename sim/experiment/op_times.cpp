#include "experiment/op_times.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace trainyard {

namespace {

double attention_scale(const Stack& stack, const Op& op) {
  if (op.kind != OpKind::attention) return 1;
  const bool is_backward = op.phase == Phase::backward && op.role != OpRole::recompute;
  return is_backward ? stack.attention_scale.backward.value : stack.attention_scale.forward.value;
}

/// Products and convolutions seen so far. Layers repeat, and each shape is compared with a profile's whole
/// table.
class KernelsSeen {
public:
  OpTime time(const GpuProfile& gpu, Precision precision, const Op& op, Layout layout) {
    const bool has_shape =
        std::holds_alternative<GemmShape>(op.shape) || std::holds_alternative<ConvShape>(op.shape);
    if (op.duration || !has_shape) return op_time(gpu, precision, op, layout);
    const auto same = std::ranges::find_if(seen_, [&](const auto& one) { return is_same(*one.first, op); });
    if (same != seen_.end()) return same->second;
    return seen_.emplace_back(&op, op_time(gpu, precision, op, layout)).second;
  }

private:
  /// In all that op_time reads of them.
  static bool is_same(const Op& a, const Op& b) {
    return a.kind == b.kind && a.shape == b.shape && a.in_8_bits == b.in_8_bits && a.flops == b.flops &&
           a.bytes == b.bytes;
  }

  std::vector<std::pair<const Op*, OpTime>> seen_;
};

}  // namespace

std::vector<OpTime> op_times(const Trace& trace, const GpuProfile& gpu, const Stack& stack) {
  const Precision precision = trace.precision.value_or(Precision::fp32);
  const Seconds overhead = op_overhead(stack);
  std::vector<OpTime> times;
  KernelsSeen kernels;
  for (const Op& op : trace.ops) {
    OpTime time = kernels.time(gpu, precision, op, stack.layout);
    // The software's overhead is already part of a duration in the trace, which was measured with it or
    // computed by an earlier run.
    if (!op.duration) {
      const double slowdown = stack.slowdown.factor[group_of(op.kind)];
      const double scale = stack.compute_scale.value * attention_scale(stack, op);
      const Seconds kernel = scale * slowdown * time.duration;
      time.slowest_gpu = (stack.slowest_gpu - 1) * kernel;
      time.duration = kernel + overhead + time.slowest_gpu;
    }
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
