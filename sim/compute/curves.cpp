#include "compute/curves.hpp"

#include <algorithm>

namespace trainyard {

Seconds roofline_time(const Roofline& curve, FlopRate peak, Bandwidth bandwidth, const Work& work) {
  const Seconds arithmetic = work.flops / (curve.efficiency * peak);
  const Seconds memory = work.bytes / (curve.bandwidth_fraction * bandwidth);
  return std::max(arithmetic, memory) + curve.t0;
}

ConvClass class_of(const ConvShape& shape) {
  if (shape.in_channels <= 3) return ConvClass::first_layer;
  if (shape.kernel_h == 1 && shape.kernel_w == 1)
    return shape.stride == 1 ? ConvClass::pointwise : ConvClass::pointwise_strided;
  const bool is_3x3 = shape.kernel_h == 3 && shape.kernel_w == 3;
  return is_3x3 && shape.stride == 1 ? ConvClass::spatial_3x3 : ConvClass::other;
}

std::optional<Roofline> curve_of(const ConvFit& fit, ConvClass conv_class) {
  const auto efficiency = [&]() -> std::optional<double> {
    switch (conv_class) {
      case ConvClass::first_layer:
        return fit.first_layer;
      case ConvClass::pointwise:
        return fit.pointwise;
      case ConvClass::pointwise_strided:
        return fit.pointwise_strided;
      case ConvClass::spatial_3x3:
        return fit.spatial_3x3;
      case ConvClass::other:
        return fit.other;
    }
    return std::nullopt;
  }();
  if (!efficiency) return std::nullopt;
  return Roofline{*efficiency, fit.bandwidth_fraction, fit.t0};
}

const MatrixRates* find_rates(const GpuProfile& gpu, Dtype dtype) {
  const MatrixUnits& units = gpu.matrix;
  const auto optional_rates = [](const std::optional<MatrixRates>& rates) {
    return rates ? &*rates : nullptr;
  };
  switch (dtype) {
    case Dtype::fp32:
      return &units.fp32;
    case Dtype::tf32:
      return optional_rates(units.tf32);
    case Dtype::fp16:
      return optional_rates(units.fp16);
    case Dtype::bf16:
      return optional_rates(units.bf16);
  }
  return nullptr;
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
