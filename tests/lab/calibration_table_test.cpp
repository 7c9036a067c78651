#include "lab/calibration_tables.hpp"

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

TEST_CASE("held-out errors are a line per group, as percentages") {
  CHECK(calibration_table(calibrated()) ==
        "Error on held-out shapes (five folds):\n\n"
        "kernels      count     mean   median     90 %  curve alone\n"
        "gemm fp16       40    9.7 %    3.0 %   25.0 %       13.0 %\n"
        "gemm fp32       40    4.9 %    3.0 %   25.0 %       13.0 %\n"
        "softmax         40    5.7 %    3.0 %   25.0 %       13.0 %\n\n");
  CHECK(calibration_table(GpuProfile()).empty());
  GpuProfile scaled;
  scaled.calibration.emplace();
  scaled.calibration->scaled_from = "v100";
  scaled.calibration->scaling = {held_out("gemm fp32 of p100", 0.19)};
  CHECK(calibration_table(scaled).find("scaling from v100,") != std::string::npos);
}
