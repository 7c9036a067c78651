#include "report/gpu_basis.hpp"

#include "calibrated_gpu.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using trainyard::testing::calibrated;
using trainyard::testing::held_out;

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
