#include "compute/gpu_use.hpp"

#include "compute/curves.hpp"
#include "compute/op_time.hpp"

#include <algorithm>
#include <limits>

namespace trainyard {

namespace {

double shortage(double needed, double taken, double kept) { return needed / std::max(kept, 1 - taken); }

/// A trace may have durations in a type for which the GPU has no unit.
FlopRate peak_of(const GpuProfile& gpu, Precision precision, const Op& op) {
  const MatrixRates* rates = is_matrix(op.kind) ? find_rates(gpu, dtype_of(precision, op)) : nullptr;
  return rates != nullptr ? rates->peak.value : gpu.matrix.fp32.peak.value;
}

}  // namespace

GpuUse use_of(const GpuProfile& gpu, Precision precision, const Op& op) {
  if (op.kind == OpKind::host) return {};  // does not use the GPU
  const FlopRate peak = peak_of(gpu, precision, op);
  const Bandwidth bandwidth = gpu.memory.bandwidth.value;
  const double computing = peak > FlopRate() ? (op.flops / peak).si() : 0;
  const double moving = bandwidth > Bandwidth() ? (op.bytes / bandwidth).si() : 0;
  const double longer = std::max(computing, moving);
  const double kept = gpu.kernel_share ? gpu.kernel_share->value : GpuUse{}.kept;
  if (longer <= 0) return {.sms = 1, .memory = 0, .kept = kept};
  return {.sms = computing / longer, .memory = moving / longer, .kept = kept};
}

double slowdown(const GpuUse& needed, const GpuUse& taken) {
  if (needed.persistent && taken.sms > 0) return std::numeric_limits<double>::infinity();
  return std::max({1.0, shortage(needed.sms, taken.sms, needed.kept),
                   shortage(needed.memory, taken.memory, needed.kept)});
}

}  // namespace trainyard
