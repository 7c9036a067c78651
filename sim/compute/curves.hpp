#pragma once
// Curves of a GPU profile: the time of a kernel from its work alone. op_time starts from them if the kernel
// itself was not measured, and `calibrate gpu` fits them.

#include "compute/gpu_profile.hpp"
#include "compute/work.hpp"

#include <optional>

namespace trainyard {

/// max(FLOPs / (efficiency x peak), bytes / (bandwidth_fraction x bandwidth)) + t0: the roofline of Williams
/// et al. 2009 (CACM 52/4) with the fixed time of a kernel.
Seconds roofline_time(const Roofline& curve, FlopRate peak, Bandwidth bandwidth, const Work& work);

/// The time of a matrix product with sums over `k` values; k = 0: unknown, which leaves out `fill` and
/// `t_sum`:
/// ((FLOPs (1 + fill / k) / (efficiency x peak))^overlap + (bytes / (bandwidth_fraction x
/// bandwidth))^overlap)
/// ^(1 / overlap) + t0 + t_sum sqrt(k / gemm_sum_length).
Seconds product_time(const GemmCurve& curve, FlopRate peak, Bandwidth bandwidth, const Work& work, int k = 0);

/// Classes of convolutions with separate efficiencies.
enum class ConvClass { first_layer, pointwise, pointwise_strided, spatial_3x3, other };
ConvClass class_of(const ConvShape& shape);

/// The curve of a convolution's class; empty if the fit leaves that class out.
std::optional<Roofline> curve_of(const ConvFit& fit, ConvClass conv_class);

/// The rates of a data type; null if the GPU has no unit for it.
const MatrixRates* find_rates(const GpuProfile& gpu, Dtype dtype);

/// The fits of the layout; if it has none, those of the other layout. Null if there are none.
const ConvPasses* find_conv_fits(const MatrixRates& rates, Layout layout);
const Sourced<ConvFit>& fit_of(const ConvPasses& passes, OpKind pass);

/// Whether a vector op is a softmax over rows longer than one warp can hold.
bool is_wide_softmax(OpKind kind, int row);

/// The fraction of the memory bandwidth reached by vector ops of a kind; `row` as in VectorShape.
const Sourced<double>& bandwidth_fraction(const VectorRates& rates, OpKind kind, int row = 0);

}  // namespace trainyard
