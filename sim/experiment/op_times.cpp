#include "experiment/op_times.hpp"

#include <algorithm>
#include <variant>

namespace trainyard {

namespace {

double attention_scale(const Stack& stack, const Op& op) {
  if (op.kind != OpKind::attention) return 1;
  const bool is_backward = op.phase == Phase::backward && op.role != OpRole::recompute;
  return is_backward ? stack.attention_scale.backward.value : stack.attention_scale.forward.value;
}

}  // namespace

OpTimer::OpTimer(const GpuProfile& gpu, const Stack& stack) : gpu_(gpu), stack_(stack) {}

OpTime OpTimer::kernel_time(const Op& op, Precision precision) {
  const auto time = [&] { return op_time(gpu_, precision, op, stack_.layout); };
  const bool has_shape =
      std::holds_alternative<GemmShape>(op.shape) || std::holds_alternative<ConvShape>(op.shape);
  if (op.duration || !has_shape) return time();
  const Kernel kernel{.precision = precision,
                      .kind = op.kind,
                      .in_8_bits = op.in_8_bits,
                      .shape = op.shape,
                      .flops = op.flops,
                      .bytes = op.bytes};
  const auto same = std::ranges::find(seen_, kernel, &std::pair<Kernel, OpTime>::first);
  if (same != seen_.end()) return same->second;
  return seen_.emplace_back(kernel, time()).second;
}

std::vector<OpTime> OpTimer::times(const Trace& trace) {
  const Precision precision = trace.precision.value_or(Precision::fp32);
  const Seconds overhead = op_overhead(stack_);
  std::vector<OpTime> times;
  for (const Op& op : trace.ops) {
    OpTime time = kernel_time(op, precision);
    // The software's overhead is already part of a duration in the trace, which was measured with it or
    // computed by an earlier run.
    if (!op.duration) {
      const double slowdown = stack_.slowdown.factor[group_of(op.kind)];
      const double scale = stack_.compute_scale.value * attention_scale(stack_, op);
      const Seconds kernel = scale * slowdown * time.duration;
      time.slowest_gpu = (stack_.slowest_gpu - 1) * kernel;
      time.duration = kernel + overhead + time.slowest_gpu;
    }
    if (stack_.overlap_slows) {
      time.use = use_of(gpu_, precision, op);
      time.use.persistent = is_persistent(stack_.persistent_kernels, op.kind, precision);
      time.overhead = std::min(overhead, time.duration);
    }
    times.push_back(time);
  }
  return times;
}

std::vector<OpTime> op_times(const Trace& trace, const GpuProfile& gpu, const Stack& stack) {
  return OpTimer(gpu, stack).times(trace);
}

}  // namespace trainyard
