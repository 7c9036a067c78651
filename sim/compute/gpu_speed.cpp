#include "compute/gpu_speed.hpp"

#include "units/text.hpp"

#include <fmt/format.h>
#include <optional>

namespace trainyard {

namespace {

/// Scaled figures are assumed: nobody has specified or measured them.
template <class T>
void assume(Sourced<T>& figure, double speed) {
  figure.provenance = Provenance::assumed;
  figure.source = fmt::format("gpu.speed: {} x ({})", shortest(speed),
                              figure.source.empty() ? "the rest of the profile" : figure.source);
}

template <class T>
void raise(Sourced<T>& rate, double speed) {
  rate.value = speed * rate.value;
  assume(rate, speed);
}

/// Scales a curve's fixed time; its rates are fractions of the peaks.
template <class T>
void shorten(Sourced<T>& curve, double speed) {
  curve.value.t0 = curve.value.t0 / speed;
  assume(curve, speed);
}

void scale(ConvPasses& passes, double speed) {
  for (Sourced<ConvFit>* fit : {&passes.forward, &passes.dgrad, &passes.wgrad}) shorten(*fit, speed);
}

void scale(MatrixRates& rates, double speed) {
  raise(rates.peak, speed);
  if (rates.gemm) {
    shorten(*rates.gemm, speed);
    std::optional<Seconds>& sums = rates.gemm->value.t_sum;
    if (sums) sums = *sums / speed;
  }
  for (std::optional<Sourced<Seconds>>* time : {&rates.attention_t0, &rates.attention_key_time}) {
    if (!*time) continue;
    (*time)->value = (*time)->value / speed;
    assume(**time, speed);
  }
  if (rates.conv) scale(*rates.conv, speed);
  if (rates.conv_nhwc) scale(*rates.conv_nhwc, speed);
}

}  // namespace

void make_faster(GpuProfile& gpu, double speed) {
  scale(gpu.matrix.fp32, speed);
  for (std::optional<MatrixRates>* rates : {&gpu.matrix.tf32, &gpu.matrix.fp16, &gpu.matrix.bf16,
                                            &gpu.matrix.fp8, &gpu.matrix.mxfp8, &gpu.matrix.nvfp4}) {
    if (*rates) scale(**rates, speed);
  }
  raise(gpu.memory.bandwidth, speed);
  gpu.vector.t0.value = gpu.vector.t0.value / speed;
  assume(gpu.vector.t0, speed);
  shorten(gpu.roofline, speed);
  for (ConvKernel& kernel : gpu.kernel_table.convs) kernel.duration = kernel.duration / speed;
  for (GemmKernel& kernel : gpu.kernel_table.gemms) kernel.duration = kernel.duration / speed;
  for (VectorKernel& kernel : gpu.kernel_table.vectors) kernel.duration = kernel.duration / speed;
}

}  // namespace trainyard
