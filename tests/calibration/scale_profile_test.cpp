#include "calibration/calibrate_gpu.hpp"
#include "calibration/shipped_gpus.hpp"
#include "compute/tiny_gpu.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

/// A GPU with units for every data type and fits for none.
GpuProfile larger_gpu() {
  GpuProfile gpu = load_gpu_profile(config::parse("tiny.yaml", tiny_gpu));
  gpu.name = "larger";
  const auto unit = [](double peak) {
    MatrixRates rates;
    rates.peak = {FlopRate(peak), Provenance::specified, "a test"};
    return rates;
  };
  gpu.matrix = {unit(20e12), unit(150e12), unit(300e12), unit(310e12), {}, {}, {}};
  gpu.vector.elementwise = {0.123, Provenance::fitted, "to be replaced"};
  gpu.memory.bandwidth.value = Bandwidth(2e12);
  return gpu;
}

GpuProfile tiny_source() { return load_gpu_profile(config::parse("tiny.yaml", tiny_gpu)); }

std::vector<std::string> checked_gpus(const GpuProfile& gpu) {
  std::vector<std::string> names;
  for (const HeldOutError& error : gpu.calibration.value().scaling) {
    const std::string name = error.kernels.substr(error.kernels.find(" of ") + 4);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("a scaled profile has its own peaks and the other's parts of them, as assumptions") {
  const GpuProfile gpu = scale(larger_gpu(), tiny_source(), {});
  CHECK(gpu.name == "larger");
  CHECK(gpu.matrix.fp32.peak.value == FlopRate(20e12));
  CHECK(gpu.matrix.fp32.peak.provenance == Provenance::specified);
  CHECK(gpu.memory.bandwidth.value == Bandwidth(2e12));
  CHECK(gpu.matrix.fp32.gemm->value.efficiency == 0.8);
  CHECK(gpu.matrix.fp32.gemm->value.t0 == Seconds(10e-6));
  CHECK(gpu.matrix.fp32.gemm->provenance == Provenance::assumed);
  CHECK(gpu.matrix.fp32.gemm->source == "part of the peak as on tiny");
  CHECK(gpu.matrix.fp32.conv->dgrad.value.spatial_3x3 == 0.8);
  CHECK_FALSE(gpu.matrix.fp32.conv_nhwc);
  CHECK(gpu.vector.elementwise.value == 0.8);
  CHECK(gpu.vector.elementwise.provenance == Provenance::assumed);
  CHECK(gpu.vector.elementwise.source == "part of the bandwidth as on tiny");
  CHECK(gpu.vector.t0.value == Seconds(2e-6));
  CHECK(gpu.vector.t0.source == "as on tiny");
  CHECK(gpu.roofline.value.efficiency == 0.5);
  CHECK_FALSE(gpu.kernels);
  REQUIRE(gpu.calibration);
  CHECK(gpu.calibration->scaled_from == "tiny");
  CHECK(gpu.calibration->held_out.empty());
}

TEST_CASE("a data type that the source lacks has the parts of its fp16 and says so") {
  const GpuProfile gpu = scale(larger_gpu(), tiny_source(), {});
  for (const auto& rates : {gpu.matrix.tf32, gpu.matrix.bf16}) {
    REQUIRE(rates);
    CHECK(rates->gemm->value.t0 == Seconds(5e-6));  // fp16's
    CHECK(rates->gemm->source == "part of the peak as on tiny, whose fp16 stands in");
    CHECK(rates->conv->forward.value.spatial_3x3 == 0.4);
  }
  CHECK(gpu.matrix.bf16->peak.value == FlopRate(310e12));
  CHECK(gpu.matrix.fp16->gemm->source == "part of the peak as on tiny");
  GpuProfile only_fp32 = tiny_source();
  only_fp32.matrix.fp16.reset();
  const GpuProfile of_fp32 = scale(larger_gpu(), only_fp32, {});
  CHECK(of_fp32.matrix.bf16->gemm->value.t0 == Seconds(10e-6));
  CHECK(of_fp32.matrix.bf16->gemm->source == "part of the peak as on tiny, whose fp32 stands in");
}

TEST_CASE("a scaled profile has no unit that its own specification lacks") {
  GpuProfile old = larger_gpu();
  old.matrix.tf32.reset();
  old.matrix.fp16.reset();
  old.matrix.bf16.reset();
  const GpuProfile gpu = scale(old, tiny_source(), {});
  CHECK_FALSE(gpu.matrix.tf32);
  CHECK_FALSE(gpu.matrix.fp16);
  CHECK_FALSE(gpu.matrix.bf16);
}

TEST_CASE("scaling from a V100 is checked on the GPUs that have kernels of their own: P100 and T4") {
  const GpuProfile v100 = shipped_gpu("v100_sxm2_16gb");
  std::vector<GpuProfile> checks;
  for (const std::string_view name : checked_profiles) checks.push_back(shipped_gpu(std::string(name)));
  const GpuProfile gpu = scale(shipped_gpu("v100s_pcie_32gb"), v100, checks);
  // the other V100s have the source's kernels and add no information
  CHECK(checked_gpus(gpu) == std::vector<std::string>{"p100_sxm2_16gb", "t4"});
  for (const HeldOutError& error : gpu.calibration->scaling) {
    CAPTURE(error.kernels);
    CHECK(error.count > 0);
    CHECK(error.mape > 0.05);
    CHECK(error.mape < 1);
    CHECK(error.mape == error.curve_mape);  // without the GPU's own kernels
  }
}

TEST_CASE("a check with the same kernels as another is one check") {
  const std::vector<GpuProfile> checks{shipped_gpu("v100_sxm2_16gb"), shipped_gpu("v100_sxm2_32gb"),
                                       shipped_gpu("v100_sxm3_32gb")};
  CHECK(checked_gpus(scale(larger_gpu(), shipped_gpu("t4"), checks)) ==
        std::vector<std::string>{"v100_sxm2_16gb"});
}

TEST_CASE("a scaled profile reads back to an equal one") {
  const GpuProfile gpu = scale(larger_gpu(), tiny_source(), {shipped_gpu("p100_sxm2_16gb")});
  CHECK(gpu.calibration->scaling.size() == 4);  // products and three passes in fp32
  const GpuProfile read = load_gpu_profile(config::parse("larger.yaml", profile_text(gpu)));
  CHECK(profile_text(read) == profile_text(gpu));
  CHECK(read.calibration->scaled_from == "tiny");
  CHECK(read.matrix.bf16->gemm->source == gpu.matrix.bf16->gemm->source);
}
