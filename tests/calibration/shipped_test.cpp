// The shipped profiles are the output of `trainyard calibrate gpu` for the shipped recordings, and their
// errors on held-out shapes are within the limits stated in issues and README.

#include "calibration/calibrate_gpu.hpp"
#include "calibration/shipped_gpus.hpp"
#include "sanitized.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace trainyard;

namespace {

/// How a shipped profile was made. Two V100s, made like the first, are compared with it: fits take long.
struct ShippedProfile {
  std::string name;
  std::vector<std::string> recordings;
  std::optional<std::string> scale_from = {};
};

const std::vector<ShippedProfile> made_by_command{
    {"v100_sxm2_16gb", {"v100_kernels.csv", "v100_vector.csv"}},
    {"p100_sxm2_16gb", {"p100_kernels.csv", "p100_vector.csv"}},
    {"t4", {"t4_kernels.csv", "t4_vector.csv"}},
    {"a100_sxm4_40gb", {"a100_vector.csv"}},
    {"p100_pcie_16gb", {"p100_vector.csv"}, "p100_sxm2_16gb"},
    {"v100_pcie_32gb", {"v100_vector.csv"}, "v100_sxm2_16gb"},
    {"v100s_pcie_32gb", {}, "v100_sxm2_16gb"},
    {"rtx2080ti", {}, "v100_sxm2_16gb"},
    {"titan_x_pascal", {}, "p100_sxm2_16gb"},
    {"k80", {}},  // scaled like those above, then halved
    {"gtx1080ti", {}, "p100_sxm2_16gb"},
    {"m60", {}, "p100_sxm2_16gb"},
    {"rtx8000", {}, "v100_sxm2_16gb"},
    {"v100_sxm3_32gb_450w", {}, "v100_sxm2_16gb"},
    {"a100_pcie_40gb", {"a100_vector.csv"}, "a100_sxm4_40gb"},
    {"a100_pcie_80gb", {}, "a100_sxm4_40gb"},
    {"a100_sxm4_80gb", {}},  // scaled from the A100 of 40 GB, then fitted to published tables, as an H100 is
    {"rtx3080", {}},         // scaled from the A100, then changed
    {"rtx3090", {}},
    {"a6000", {}},
    {"h100_sxm_80gb", {}},
    {"h100_pcie_80gb", {}, "h200_sxm_141gb"},
    {"h200_sxm_141gb", {}},
    {"h100_measured", {"h100_measured.csv", "h100_measured_pytorch.csv"}},
    {"h200_measured", {"h200_measured.csv", "h200_measured_pytorch.csv"}},
    {"b200_sxm_180gb", {}},
    {"b300_sxm_270gb", {}},
    {"gb200_186gb", {}},
    {"gb300_279gb", {}},
    {"l4_24gb", {}, "l40s_48gb"},
    {"l40s_48gb", {}},
    {"rtx_pro_6000_server_96gb", {}},
    {"titan_xp", {}, "p100_sxm2_16gb"},
    {"k40", {}},       // as the K80
    {"a10_24gb", {}},  // as the A6000
    {"mi250x_gcd_64gb", {}, "a100_sxm4_40gb"},
    {"mi300x_192gb", {}},  // scaled from the H200, with products as published
    {"mi325x_256gb", {}},
    {"mi350x_288gb", {}},
    {"mi355x_288gb", {}},
    {"rtx4090", {}},  // scaled from the L40S, with products as published
    {"rtx5090", {}},  // as the RTX 4090, from the RTX PRO 6000
    {"rtx6000_ada_48gb", {}, "l40s_48gb"},
    {"rtx_pro_6000_workstation_96gb", {}, "rtx_pro_6000_server_96gb"},
    {"a10g_24gb", {}, "rtx3090"},
    {"h100_nvl_94gb", {}, "h200_sxm_141gb"},
    {"h100_96gb_500w", {}},  // scaled from h100_measured, with its attention in 16 bits alone
    {"gh200_96gb", {}, "h200_sxm_141gb"},
    {"gh200_144gb", {}, "h200_sxm_141gb"}};

std::vector<GpuProfile> checks() {
  std::vector<GpuProfile> profiles;
  for (const std::string_view name : checked_profiles) profiles.push_back(shipped_gpu(std::string(name)));
  return profiles;
}

std::string text_of_command(const ShippedProfile& shipped) {
  GpuProfile gpu = shipped_gpu(shipped.name);
  if (shipped.scale_from) gpu = scale(gpu, shipped_gpu(*shipped.scale_from), checks());
  std::vector<Recording> recordings;
  for (const std::string& name : shipped.recordings) recordings.push_back(shipped_recording(name));
  return profile_text(recordings.empty() ? gpu : calibrate(gpu, recordings));
}

std::string text_in_file(const std::string& name) {
  return config::read_file(shipped_gpu_file(name + ".yaml"), largest_csv);
}

/// The first line in which two texts differ, in both forms; empty if they are equal.
std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream lines_a(a);
  std::istringstream lines_b(b);
  std::string line_a;
  std::string line_b;
  while (std::getline(lines_a, line_a)) {
    if (!std::getline(lines_b, line_b) || line_a != line_b) return line_a + "\n" + line_b + "\n";
  }
  return a == b ? "" : "one ends before the other";
}

/// The mean error of a shipped profile on the held-out kernels of a group; 1000 if it has no such group.
double held_out_mape(const std::string& name, const std::string& group) {
  const GpuProfile gpu = shipped_gpu(name);
  for (const HeldOutError& error : gpu.calibration.value().held_out) {
    if (error.kernels == group) return error.mape;
  }
  return 1000;
}

}  // namespace

TEST_CASE("every shipped profile comes out of the command, to the byte") {
  for (const ShippedProfile& shipped : made_by_command) {
    // Thousands of kernels take a minute with sanitizers: tests/cli/calibrate_test.cpp makes these.
    if (testing::is_sanitized && shipped.name.ends_with("_measured")) continue;
    CAPTURE(shipped.name);
    CHECK(first_difference(text_of_command(shipped), text_in_file(shipped.name)) == "");
  }
}

TEST_CASE("GPUs with the same peaks and recordings have the same fits, to the byte") {
  const GpuProfile fitted = shipped_gpu("v100_sxm2_16gb");
  for (const std::string name : {"v100_sxm2_32gb", "v100_sxm3_32gb"}) {
    CAPTURE(name);
    GpuProfile gpu = shipped_gpu(name);
    CHECK(gpu.memory.bandwidth.value == fitted.memory.bandwidth.value);
    CHECK(gpu.matrix.fp32.peak.value == fitted.matrix.fp32.peak.value);
    CHECK(gpu.matrix.fp16->peak.value == fitted.matrix.fp16->peak.value);
    const MatrixUnits own = gpu.matrix;
    gpu.matrix = fitted.matrix;
    gpu.matrix.fp32.peak = own.fp32.peak;  // each has its own source
    gpu.matrix.fp16->peak = own.fp16->peak;
    gpu.vector = fitted.vector;
    gpu.roofline = fitted.roofline;
    gpu.kernels = fitted.kernels;
    gpu.calibration = fitted.calibration;
    CHECK(first_difference(profile_text(gpu), text_in_file(name)) == "");
  }
}

TEST_CASE("no profile is shipped that the command did not make") {
  std::vector<std::string> made{"v100_sxm2_32gb", "v100_sxm3_32gb"};
  for (const ShippedProfile& shipped : made_by_command) made.push_back(shipped.name);
  std::ranges::sort(made);
  const std::vector<std::string> names = config::names(shipped_catalogue(), config::Kind::gpu);
  REQUIRE(names.size() == made.size());
  for (std::size_t i = 0; i < made.size(); ++i) CHECK(names[i] == made[i]);
}

TEST_CASE("the fits of a V100 miss held-out shapes by no more than they may") {
  for (const std::string name : {"v100_sxm2_16gb", "v100_sxm2_32gb", "v100_sxm3_32gb"}) {
    CAPTURE(name);
    CHECK(held_out_mape(name, "gemm fp32") <= 0.08);
    CHECK(held_out_mape(name, "gemm fp16") <= 0.12);
    CHECK(held_out_mape(name, "conv_forward fp32") <= 0.15);
    CHECK(held_out_mape(name, "conv_dgrad fp32") <= 0.30);
    CHECK(held_out_mape(name, "conv_wgrad fp32") <= 0.30);
    CHECK(held_out_mape(name, "conv_forward fp16") <= 0.30);
    CHECK(held_out_mape(name, "conv_dgrad fp16") <= 0.45);
    CHECK(held_out_mape(name, "conv_wgrad fp16") <= 0.45);
  }
  for (const std::string name : {"v100_sxm2_16gb", "v100_sxm2_32gb", "v100_sxm3_32gb", "v100_pcie_32gb"}) {
    CAPTURE(name);
    CHECK(held_out_mape(name, "elementwise") <= 0.08);
    CHECK(held_out_mape(name, "layer_norm") <= 0.08);
    CHECK(held_out_mape(name, "softmax") <= 0.08);
    CHECK(held_out_mape(name, "softmax_wide") <= 0.08);
  }
}

TEST_CASE("the fit of a P100's products misses held-out shapes by no more than it may") {
  CHECK(held_out_mape("p100_sxm2_16gb", "gemm fp32") <= 0.20);
}

TEST_CASE("fits to published tables miss held-out shapes by no more than they may") {
  struct Limits {
    std::string name;
    double gemm_bf16, gemm_fp8, attention;
  };
  for (const Limits& limits :
       {Limits{"h200_sxm_141gb", 0.08, 0.10, 0.12}, Limits{"b200_sxm_180gb", 0.10, 0.14, 0.12},
        Limits{"b300_sxm_270gb", 0.09, 0.11, 0.12}, Limits{"gb200_186gb", 0.11, 0.11, 0.13},
        Limits{"gb300_279gb", 0.09, 0.10, 0.12}, Limits{"l40s_48gb", 0.15, 0.16, 0.12},
        Limits{"rtx_pro_6000_server_96gb", 0.13, 0.13, 0.12}}) {
    CAPTURE(limits.name);
    CHECK(held_out_mape(limits.name, "gemm bf16") <= limits.gemm_bf16);
    CHECK(held_out_mape(limits.name, "gemm fp8") <= limits.gemm_fp8);
    CHECK(held_out_mape(limits.name, "attention bf16") <= limits.attention);
  }
}

TEST_CASE("the errors of a scaled profile are those of GPUs whose kernels are known") {
  const GpuProfile gpu = shipped_gpu("v100s_pcie_32gb");
  CHECK(gpu.calibration->scaled_from == "v100_sxm2_16gb");
  CHECK(gpu.calibration->held_out.empty());
  std::vector<std::string> groups;
  for (const HeldOutError& error : gpu.calibration->scaling) groups.push_back(error.kernels);
  for (const std::string expected : {"gemm fp32 of p100_sxm2_16gb", "gemm fp32 of t4", "gemm fp16 of t4"}) {
    CAPTURE(expected);
    CHECK(std::ranges::find(groups, expected) != groups.end());
  }
}

TEST_CASE("products of MI300X and MI325X, one die, differ as the clocks that their power limits allow") {
  const GpuProfile slower = shipped_gpu("mi300x_192gb");
  const GpuProfile faster = shipped_gpu("mi325x_256gb");
  CHECK(slower.sms->value == faster.sms->value);
  const auto rate = [](const MatrixRates& rates) { return rates.peak.value * rates.gemm->value.efficiency; };
  const auto check = [&](const MatrixRates& one, const MatrixRates& other, double one_mhz, double other_mhz) {
    CHECK(rate(one) / rate(other) == doctest::Approx(one_mhz / other_mhz).epsilon(0.01));
  };
  check(*slower.matrix.fp16, *faster.matrix.fp16, 1115, 1354);
  check(*slower.matrix.bf16, *faster.matrix.bf16, 1207, 1447);
  check(*slower.matrix.fp8, *faster.matrix.fp8, 1230, 1464);
}
