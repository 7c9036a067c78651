#include "compute/gpu_speed.hpp"

namespace trainyard {

namespace {

void scale(ConvPasses& passes, double speed) {
  for (Sourced<ConvFit>* fit : {&passes.forward, &passes.dgrad, &passes.wgrad})
    fit->value.t0 = fit->value.t0 / speed;
}

void scale(MatrixRates& rates, double speed) {
  rates.peak.value = speed * rates.peak.value;
  if (rates.gemm) rates.gemm->value.t0 = rates.gemm->value.t0 / speed;
  if (rates.conv) scale(*rates.conv, speed);
  if (rates.conv_nhwc) scale(*rates.conv_nhwc, speed);
}

}  // namespace

void make_faster(GpuProfile& gpu, double speed) {
  scale(gpu.matrix.fp32, speed);
  for (std::optional<MatrixRates>* rates : {&gpu.matrix.tf32, &gpu.matrix.fp16, &gpu.matrix.bf16}) {
    if (*rates) scale(**rates, speed);
  }
  gpu.memory.bandwidth.value = speed * gpu.memory.bandwidth.value;
  gpu.vector.t0.value = gpu.vector.t0.value / speed;
  gpu.roofline.value.t0 = gpu.roofline.value.t0 / speed;
  for (ConvKernel& kernel : gpu.kernel_table.convs) kernel.duration = kernel.duration / speed;
  for (GemmKernel& kernel : gpu.kernel_table.gemms) kernel.duration = kernel.duration / speed;
  for (VectorKernel& kernel : gpu.kernel_table.vectors) kernel.duration = kernel.duration / speed;
}

}  // namespace trainyard
