#pragma once
// Fits the curves of a profile to measured kernels. Every fit minimises misses |r - 1/r| / 2, r = predicted
// over measured time (twice as long and half as long are equally wrong): their mean, but in fit_product.

#include "compute/curves.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

/// With fewer kernels than this, nothing is fitted.
inline constexpr std::size_t fewest_kernels = 8;

/// A kernel's work and its time.
struct Sample {
  Work work;
  Seconds time;
};

struct ConvSample {
  Sample sample;
  ConvClass conv_class{};
};

/// Peaks of a GPU by specification.
struct Limits {
  FlopRate peak;
  Bandwidth bandwidth;
};

/// Efficiency, bandwidth fraction and t0 of one class of kernels; efficiency and fraction at most 1. Rounded
/// to four digits. Needs at least one sample.
Roofline fit_roofline(const std::vector<Sample>& samples, const Limits& limits);

/// A product's work, the length of its sums and its time.
struct ProductSample {
  Sample sample;
  int k = 0;
};

/// The six numbers of GemmCurve, for many products. As with a roofline, efficiency and bandwidth fraction are
/// at most 1. Least squares of misses that count less above 0.1: a table has products for which a library
/// chose badly. Rounded to four digits. Needs at least one sample.
GemmCurve fit_product(const std::vector<ProductSample>& samples, const Limits& limits);

/// The cast of a linear layer's input, m x k values, from 16 to 8 bits: fixed + 3 bytes a value / rate +
/// per_row m + per_column k.
struct CastFit {
  Seconds fixed;
  Bandwidth rate;
  Seconds per_row, per_column;
};
Seconds cast_time(const CastFit& cast, const GemmShape& shape);

/// A call of a linear layer in 8 bits with the cast of its input, and its time.
struct CastingSample {
  GemmShape shape;
  Seconds time;
};

struct CastingFit {
  GemmCurve product;
  CastFit cast;
};

/// The curve of the products of such calls, and that of their casts; misses as in fit_product. The fixed
/// times of both cannot be told apart: t0 and t_sum of the product are those of `other`, in 16 bits.
CastingFit fit_casting(const std::vector<CastingSample>& samples, const Limits& limits,
                       const GemmCurve& other);

/// A forward pass of causal attention over n keys.
struct AttentionSample {
  Sample sample;
  int n = 0;
};

/// FLOPs (1 + tokens / n) / (efficiency x peak), or the time of its bytes if that is longer, + t0 + n
/// key_time: the figures `attention...` of a profile, forward.
struct AttentionFit {
  double efficiency = 0, tokens = 0;
  Seconds t0, key_time;
};

/// Misses as in fit_product; bytes move at `limits.bandwidth`.
AttentionFit fit_attention(const std::vector<AttentionSample>& samples, const Limits& limits);

/// As above, with an efficiency per class. A class with fewer than three kernels gets that of `other`, or
/// that of all classes if there is none either; the first layer is then left out. Efficiencies are at most 1,
/// for 3x3 and other windows 4 (Winograd); the bandwidth fraction is at most 0.93, as in the best streams: a
/// free fit gives 16-bit convolutions several times the memory's bandwidth.
ConvFit fit_conv(const std::vector<ConvSample>& samples, const Limits& limits);

/// bytes / (fraction x bandwidth) + t0.
struct VectorFit {
  double bandwidth_fraction = 0;
  Seconds t0;
};
VectorFit fit_vector(const std::vector<Sample>& samples, Bandwidth bandwidth);

/// A sample timed by a framework, with the name of the call.
struct DispatchedSample {
  Sample sample;
  std::string call;
};

/// max(dispatch of the call, bytes / (fraction x bandwidth) + t0): a kernel shorter than the framework's next
/// launch cannot be seen.
struct DispatchFit {
  VectorFit vector;
  std::map<std::string, Seconds> dispatch;
};
DispatchFit fit_dispatched(const std::vector<DispatchedSample>& samples, Bandwidth bandwidth);
Seconds dispatched_time(const DispatchFit& fit, const std::string& call, Bytes bytes, Bandwidth bandwidth);

}  // namespace trainyard
