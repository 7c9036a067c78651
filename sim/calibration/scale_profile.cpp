#include "calibration/calibrate_gpu.hpp"
#include "compute/short_profile.hpp"

#include <fmt/format.h>
#include <set>

namespace trainyard {
namespace {

/// Takes over the fractions of the peak from `from`; the peak stays.
void scale_rates(MatrixRates& rates, const MatrixRates& from, const std::string& why) {
  rates.gemm.reset();
  rates.conv.reset();
  rates.conv_nhwc.reset();
  fill_curves(rates, from, why);
}

void scale_tensor_rates(std::optional<MatrixRates>& rates, const std::optional<MatrixRates>& own,
                        const MatrixUnits& source, const std::string& why) {
  if (!rates) return;
  const MatrixRates& like = own ? *own : source.fp16 ? *source.fp16 : source.fp32;
  scale_rates(*rates, like, own ? why : why + ", whose " + (source.fp16 ? "fp16" : "fp32") + " stands in");
}

/// `specification` with the fractions of `source`, without any calibration.
GpuProfile scaled(const GpuProfile& specification, const GpuProfile& source) {
  const std::string why = "part of the peak as on " + source.name;
  GpuProfile gpu = specification;
  const MatrixUnits& from = source.matrix;
  scale_rates(gpu.matrix.fp32, from.fp32, why);
  scale_tensor_rates(gpu.matrix.tf32, from.tf32, from, why);
  scale_tensor_rates(gpu.matrix.fp16, from.fp16, from, why);
  scale_tensor_rates(gpu.matrix.bf16, from.bf16, from, why);
  scale_tensor_rates(gpu.matrix.fp8, from.fp8, from, why);
  scale_tensor_rates(gpu.matrix.nvfp4, from.nvfp4 ? from.nvfp4 : from.fp8, from, why);
  const std::string share = "part of the bandwidth as on " + source.name;
  const VectorRates& vector = source.vector;
  gpu.vector = {as_assumed(vector.elementwise, share),
                as_assumed(vector.batch_norm, share),
                as_assumed(vector.layer_norm, share),
                as_assumed(vector.pooling, share),
                as_assumed(vector.softmax, share),
                std::nullopt,
                as_assumed(vector.embedding, share),
                as_assumed(vector.optimizer, share),
                as_assumed(vector.t0, "as on " + source.name)};
  if (vector.softmax_wide) gpu.vector.softmax_wide = as_assumed(*vector.softmax_wide, share);
  gpu.roofline = as_assumed(source.roofline, "as on " + source.name);
  gpu.kernels.reset();
  gpu.vector_kernels.reset();
  gpu.kernel_table = {};
  gpu.calibration.reset();
  return gpu;
}

/// `gpu` without the matrix units that `other` lacks: their errors are irrelevant for it.
GpuProfile with_units_of(GpuProfile gpu, const GpuProfile& other) {
  if (!other.matrix.tf32) gpu.matrix.tf32.reset();
  if (!other.matrix.fp16) gpu.matrix.fp16.reset();
  if (!other.matrix.bf16) gpu.matrix.bf16.reset();
  if (!other.matrix.fp8) gpu.matrix.fp8.reset();
  if (!other.matrix.mxfp8) gpu.matrix.mxfp8.reset();
  if (!other.matrix.nvfp4) gpu.matrix.nvfp4.reset();
  return gpu;
}

}  // namespace

GpuProfile scale(const GpuProfile& specification, const GpuProfile& source,
                 const std::vector<GpuProfile>& checks) {
  GpuProfile gpu = scaled(specification, source);
  Calibration calibration;
  calibration.scaled_from = source.name;
  std::set<std::string> seen;
  if (source.kernels) seen.insert(*source.kernels);
  for (const GpuProfile& check : checks) {
    if (!check.kernels || !seen.insert(*check.kernels).second) continue;
    for (HeldOutError error :
         errors_of(with_units_of(scaled(check, source), specification), check.kernel_table)) {
      error.kernels += " of " + check.name;
      calibration.scaling.push_back(error);
    }
  }
  gpu.calibration = calibration;
  return gpu;
}

}  // namespace trainyard
