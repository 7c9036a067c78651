#include "report/gpu_basis.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

HeldOutError held_out(const std::string& kernels, double mape) {
  return {.kernels = kernels, .count = 40, .mape = mape, .median = 0.03, .p90 = 0.25, .curve_mape = 0.13};
}

GpuProfile calibrated() {
  GpuProfile gpu;
  gpu.calibration.emplace();
  gpu.calibration->held_out = {held_out("gemm fp16", 0.097), held_out("gemm fp32", 0.049),
                               held_out("softmax", 0.057)};
  return gpu;
}

}  // namespace

TEST_CASE("a line says of each part of the kernels where its rates come from") {
  CHECK(calibration_line(calibrated()) == "fitted: gemm 5-10 %, vector 6 %; assumed: conv");
  GpuProfile with_attention = calibrated();
  with_attention.calibration->held_out.push_back({"attention bf16", 9, 0.081, 0.05, 0.2, 0.081});
  CHECK(calibration_line(with_attention) == "fitted: gemm 5-10 %, vector 6 %, attention 8 %; assumed: conv");
  CHECK(calibration_line(GpuProfile()) == "assumed: gemm, conv, vector");
  GpuProfile scaled = calibrated();
  scaled.calibration->held_out = {held_out("batch_norm", 0.04)};
  scaled.calibration->scaled_from = "v100";
  scaled.calibration->scaling = {held_out("conv_dgrad fp32 of t4", 0.38), held_out("gemm fp32 of t4", 0.33),
                                 held_out("gemm fp32 of p100", 0.19)};
  CHECK(calibration_line(scaled) == "fitted: vector 4 %; scaled from v100: gemm 19-33 %, conv 38 %");
}
