#include "compute/op_time.hpp"

#include "config/diagnostic.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace trainyard {
namespace {

ComputeSource source_of(Provenance provenance) {
  const bool is_measured = provenance == Provenance::measured || provenance == Provenance::fitted;
  return is_measured ? ComputeSource::fitted : ComputeSource::roofline;
}

Seconds roofline_time(const Roofline& roofline, FlopRate peak, Bandwidth bandwidth, Flops flops,
                      Bytes bytes) {
  const Seconds arithmetic = flops / (roofline.efficiency * peak);
  const Seconds memory = bytes / (roofline.bandwidth_fraction * bandwidth);
  return std::max(arithmetic, memory) + roofline.t0;
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

const MatrixRates& rates_of(const GpuProfile& gpu, Dtype dtype) {
  const MatrixRates* rates = find_rates(gpu, dtype);
  assert(rates != nullptr);  // matrix_dtype has checked
  return *rates;
}

const Sourced<ConvFit>& fit_of(const ConvPasses& passes, OpKind pass) {
  return pass == OpKind::conv_dgrad   ? passes.dgrad
         : pass == OpKind::conv_wgrad ? passes.wgrad
                                      : passes.forward;
}

std::optional<double> class_efficiency(const ConvFit& fit, const ConvShape& shape) {
  if (shape.in_channels <= 3) return fit.first_layer;
  if (shape.kernel_h == 1 && shape.kernel_w == 1)
    return shape.stride == 1 ? fit.pointwise : fit.pointwise_strided;
  if (shape.kernel_h == 3 && shape.kernel_w == 3 && shape.stride == 1) return fit.spatial_3x3;
  return fit.other;
}

/// A matrix op: its kind, shape, FLOPs and bytes.
struct Work {
  OpKind kind{};
  const Shape& shape;
  Flops flops;
  Bytes bytes;
};

/// The curve of a convolution's class; nothing if there is no such fit.
std::optional<OpTime> conv_fit_time(const GpuProfile& gpu, Dtype dtype, const ConvShape& shape,
                                    const Work& work) {
  const MatrixRates& rates = rates_of(gpu, dtype);
  if (!rates.conv) return std::nullopt;
  const Sourced<ConvFit>& fit = fit_of(*rates.conv, work.kind);
  const auto efficiency = class_efficiency(fit.value, shape);
  if (!efficiency) return std::nullopt;
  const Roofline curve{*efficiency, fit.value.bandwidth_fraction, fit.value.t0};
  return OpTime{roofline_time(curve, rates.peak.value, gpu.memory.bandwidth.value, work.flops, work.bytes),
                source_of(fit.provenance)};
}

OpTime general_time(const GpuProfile& gpu, Dtype dtype, const Work& work) {
  return {roofline_time(gpu.roofline.value, rates_of(gpu, dtype).peak.value, gpu.memory.bandwidth.value,
                        work.flops, work.bytes),
          ComputeSource::roofline};
}

OpTime conv_time(const GpuProfile& gpu, Dtype dtype, const Work& work) {
  const ConvShape* shape = std::get_if<ConvShape>(&work.shape);
  if (shape == nullptr) return general_time(gpu, dtype, work);
  const MeasuredTime measured = find_kernel(gpu.kernel_table, work.kind, dtype, *shape);
  if (measured.duration) return {*measured.duration, ComputeSource::measured};
  const auto fitted = conv_fit_time(gpu, dtype, *shape, work);
  OpTime time = fitted ? *fitted : general_time(gpu, dtype, work);
  if (measured.at_least) time.duration = std::max(time.duration, *measured.at_least);
  if (measured.at_most) time.duration = std::min(time.duration, *measured.at_most);
  return time;
}

OpTime gemm_time(const GpuProfile& gpu, Dtype dtype, const Work& work) {
  if (const auto* shape = std::get_if<GemmShape>(&work.shape)) {
    if (const auto duration = find_kernel(gpu.kernel_table, dtype, *shape)) {
      return {*duration, ComputeSource::measured};
    }
  }
  const MatrixRates& rates = rates_of(gpu, dtype);
  if (!rates.gemm) return general_time(gpu, dtype, work);
  return {
      roofline_time(rates.gemm->value, rates.peak.value, gpu.memory.bandwidth.value, work.flops, work.bytes),
      source_of(rates.gemm->provenance)};
}

/// In 16 bits a framework's search takes the fp32 kernel where it is faster; it moves twice the bytes.
OpTime half_conv_time(const GpuProfile& gpu, Dtype dtype, const Work& work) {
  const OpTime half = conv_time(gpu, dtype, work);
  const OpTime single = conv_time(gpu, Dtype::fp32, {work.kind, work.shape, work.flops, 2 * work.bytes});
  return single.duration < half.duration ? single : half;
}

const Sourced<double>& vector_fraction(const VectorRates& rates, OpKind kind) {
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
      return rates.softmax;
    case OpKind::optimizer:
      return rates.optimizer;
    default:
      return rates.elementwise;
  }
}

OpTime vector_time(const GpuProfile& gpu, const Op& op) {
  const Sourced<double>& fraction = vector_fraction(gpu.vector, op.kind);
  const Roofline curve{1, fraction.value, gpu.vector.t0.value};
  return {roofline_time(curve, gpu.matrix.fp32.peak.value, gpu.memory.bandwidth.value, op.flops, op.bytes),
          source_of(fraction.provenance)};
}

Dtype dtype_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return Dtype::fp32;
    case Precision::tf32:
      return Dtype::tf32;
    case Precision::fp16:
    case Precision::amp:
      return Dtype::fp16;
    case Precision::bf16:
    case Precision::amp_bf16:
      return Dtype::bf16;
  }
  return Dtype::fp32;
}

std::string usable_precisions(const GpuProfile& gpu) {
  std::string list;
  for (const auto& name : config::Names<Precision>::table) {
    const Dtype dtype = dtype_of(name.value);
    if (dtype != Dtype::tf32 && find_rates(gpu, dtype) == nullptr) continue;
    list += (list.empty() ? "" : ", ") + std::string(name.text);
  }
  return list;
}

}  // namespace

Dtype matrix_dtype(const GpuProfile& gpu, Precision precision) {
  const Dtype dtype = dtype_of(precision);
  if (find_rates(gpu, dtype) != nullptr) return dtype;
  if (dtype == Dtype::tf32) return Dtype::fp32;
  throw InputError(gpu.name + " has no " + std::string(config::name_of(dtype)) + " matrix unit (precision " +
                       std::string(config::name_of(precision)) + ")",
                   "use one of " + usable_precisions(gpu));
}

FlopRate peak_rate(const GpuProfile& gpu, Precision precision) {
  return rates_of(gpu, matrix_dtype(gpu, precision)).peak.value;
}

OpTime op_time(const GpuProfile& gpu, Precision precision, const Op& op) {
  if (op.duration) return {*op.duration, op.source.value_or(ComputeSource::measured)};
  const Dtype dtype = matrix_dtype(gpu, precision);
  const Work work{op.kind, op.shape, op.flops, op.bytes};
  switch (op.kind) {
    case OpKind::conv_forward:
    case OpKind::conv_dgrad:
    case OpKind::conv_wgrad:
      return dtype == Dtype::fp16 || dtype == Dtype::bf16 ? half_conv_time(gpu, dtype, work)
                                                          : conv_time(gpu, dtype, work);
    case OpKind::gemm:
      return gemm_time(gpu, dtype, work);
    case OpKind::measured:
      throw InputError("op '" + op.layer + "' is of kind 'measured' and has no duration",
                       "give its duration_s, or another kind with flops and bytes");
    default:
      return vector_time(gpu, op);
  }
}

}  // namespace trainyard
