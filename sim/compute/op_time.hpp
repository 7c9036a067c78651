#pragma once
// Time of an op on a GPU, from the first available of a measured table for its shape, a curve fitted for its
// class, and a roofline.

#include "compute/gpu_profile.hpp"
#include "compute/gpu_use.hpp"
#include "units/memo.hpp"
#include "workload/trace.hpp"

#include <cstddef>

namespace trainyard {

struct OpTime {
  Seconds duration;
  ComputeSource source{};
  GpuUse use = {};        ///< its needs; not set by op_time()
  Seconds overhead = {};  ///< the software's part of the duration; not set by op_time()
  Seconds kernel = {};    ///< its time on a GPU of mean speed, which another needs more or less of; likewise
  /// Part of the duration: the slowest of the job's GPUs needs longer than the mean; not set by op_time().
  Seconds slowest_gpu = {};
};

/// The data type a precision requires of matrix units.
Dtype dtype_of(Precision precision);

/// The data type of an op's matrix work: in fp8, mxfp8 and nvfp4, that of products in 8 or 4 bits, and
/// bf16 otherwise.
Dtype dtype_of(Precision precision, const Op& op);

/// The data type of the fastest matrix work of a precision on `gpu`: tf32 becomes fp32 without a TF32 unit.
/// Throws InputError if the GPU has no unit for it (bf16 before Ampere, fp8 before Hopper, mxfp8 and nvfp4
/// before Blackwell).
Dtype matrix_dtype(const GpuProfile& gpu, Precision precision);

/// Peak rate of matrix work in this precision, for utilizations. Throws as matrix_dtype.
FlopRate peak_rate(const GpuProfile& gpu, Precision precision);

/// The duration of one op on `gpu` in `precision`, and its source. `layout`: of the activations of
/// convolutions. An op with a given duration keeps it.
/// - convolution: the kernel table (batch interpolated, never extrapolated), otherwise the fit of its class
///   and pass, corrected by the nearest measured kernels (nearest.hpp), but at least the time of the table's
///   largest batch if that is smaller, and at most that of its smallest batch if that is larger (still
///   counted as fitted, since this shape was not measured); in 16 bits the fp32 time if that is shorter,
///   since frameworks then choose it.
/// - matrix product: the kernel table (exact shape; fitted if a fitted part was subtracted), otherwise the
/// fit, corrected in the same way.
/// - attention: the profile's efficiency, with causal attention (is_causal_attention) over n keys
///   1 + attention_tokens / n times as long, forward and backward, and attention_key_time for each key;
///   without one, 0.6 of that of matrix products, assumed.
/// - an op with a rate: its launches' fixed time and their bytes over the rate; a tenth of the bytes that the
///   cache holds counts as free.
/// - all others: bytes over the fraction of the memory bandwidth of their kind, corrected in the same way.
/// A rate with provenance `assumed` or `specified` counts as roofline, a measured or fitted one as fitted.
/// Throws as matrix_dtype, and InputError for an op of kind `measured` without a duration.
/// A profile with `known_times` keeps all results but given durations.
OpTime op_time(const GpuProfile& gpu, Precision precision, const Op& op, Layout layout = Layout::nchw);

/// All that op_time() reads of an op without a duration, but its name, which is for messages.
struct TimedOp {
  Precision precision{};
  Layout layout{};
  OpKind kind{};
  bool in_8_bits = false;
  Phase phase{};  ///< of a product with a rate, otherwise forward
  std::optional<KernelRate> rate;
  std::optional<ProductRate> product;
  double rows = 0;
  int launches = 1;
  Shape shape;
  Flops flops;
  Bytes bytes;
  friend bool operator==(const TimedOp&, const TimedOp&) = default;
};

struct TimedOpHash {
  std::size_t operator()(const TimedOp& op) const;
};

/// Results of op_time() with one profile.
struct OpTimeMemo {
  static constexpr std::size_t most = 1U << 14U;
  Memo<TimedOp, OpTime, TimedOpHash> times{most};
};

/// Makes the profile keep the times of ops, and those of its copies, which share them. The profile, and they,
/// must not change afterwards.
void keep_op_times(GpuProfile& gpu);

}  // namespace trainyard
