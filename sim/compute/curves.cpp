#include "compute/curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard {
namespace {

/// (a^p + b^p)^(1/p); the longer of the two without p. Relative to the longer, so that no power underflows.
Seconds together(Seconds a, Seconds b, std::optional<double> p) {
  const Seconds longer = std::max(a, b);
  if (!p || longer == Seconds()) return longer;
  return std::pow(1 + std::pow(std::min(a, b) / longer, *p), 1 / *p) * longer;
}

}  // namespace

Seconds roofline_time(const Roofline& curve, FlopRate peak, Bandwidth bandwidth, const Work& work) {
  const Seconds arithmetic = work.flops / (curve.efficiency * peak);
  const Seconds memory = work.bytes / (curve.bandwidth_fraction * bandwidth);
  return std::max(arithmetic, memory) + curve.t0;
}

Seconds product_time(const GemmCurve& curve, FlopRate peak, Bandwidth bandwidth, const Work& work, int k) {
  const bool knows_sum = k > 0;
  const double filled = knows_sum ? 1 + curve.fill.value_or(0) / k : 1;
  const Seconds arithmetic = filled * work.flops / (curve.efficiency * peak);
  const Seconds memory = work.bytes / (curve.bandwidth_fraction * bandwidth);
  const Seconds sums =
      knows_sum ? std::sqrt(k / gemm_sum_length) * curve.t_sum.value_or(Seconds()) : Seconds();
  return together(arithmetic, memory, curve.overlap) + curve.t0 + sums;
}

ConvClass class_of(const ConvShape& shape) {
  if (shape.in_channels <= 3) return ConvClass::first_layer;
  if (shape.kernel_h == 1 && shape.kernel_w == 1)
    return shape.stride == 1 ? ConvClass::pointwise : ConvClass::pointwise_strided;
  const bool is_3x3 = shape.kernel_h == 3 && shape.kernel_w == 3;
  return is_3x3 && shape.stride == 1 ? ConvClass::spatial_3x3 : ConvClass::other;
}

std::optional<Roofline> curve_of(const ConvFit& fit, ConvClass conv_class) {
  // by ConvClass
  const std::array<std::optional<double>, 5> efficiencies{fit.first_layer, fit.pointwise,
                                                          fit.pointwise_strided, fit.spatial_3x3, fit.other};
  const std::optional<double> efficiency = efficiencies.at(static_cast<std::size_t>(conv_class));
  if (!efficiency) return std::nullopt;
  return Roofline{*efficiency, fit.bandwidth_fraction, fit.t0};
}

const MatrixRates* find_rates(const GpuProfile& gpu, Dtype dtype) {
  const MatrixUnits& units = gpu.matrix;
  if (dtype == Dtype::fp32) return &units.fp32;
  const auto& rates = dtype == Dtype::tf32    ? units.tf32
                      : dtype == Dtype::fp16  ? units.fp16
                      : dtype == Dtype::bf16  ? units.bf16
                      : dtype == Dtype::fp8   ? units.fp8
                      : dtype == Dtype::mxfp8 ? units.mxfp8
                                              : units.nvfp4;
  return rates ? &*rates : nullptr;
}

const ConvPasses* find_conv_fits(const MatrixRates& rates, Layout layout) {
  const auto& own = layout == Layout::nhwc ? rates.conv_nhwc : rates.conv;
  const auto& other = layout == Layout::nhwc ? rates.conv : rates.conv_nhwc;
  return own ? &*own : other ? &*other : nullptr;
}

const Sourced<ConvFit>& fit_of(const ConvPasses& passes, OpKind pass) {
  return pass == OpKind::conv_dgrad   ? passes.dgrad
         : pass == OpKind::conv_wgrad ? passes.wgrad
                                      : passes.forward;
}

bool is_wide_softmax(OpKind kind, int row) { return kind == OpKind::softmax && row > widest_warp_row; }

const Sourced<double>& bandwidth_fraction(const VectorRates& rates, OpKind kind, int row) {
  switch (kind) {
    case OpKind::batch_norm_forward:
    case OpKind::batch_norm_backward:
      return rates.batch_norm;
    case OpKind::layer_norm:
      return rates.layer_norm;
    case OpKind::embedding:
      return rates.embedding;
    case OpKind::pooling:
      return rates.pooling;
    case OpKind::softmax:
      return is_wide_softmax(kind, row) && rates.softmax_wide ? *rates.softmax_wide : rates.softmax;
    case OpKind::optimizer:
      return rates.optimizer;
    default:
      return rates.elementwise;
  }
}

}  // namespace trainyard
