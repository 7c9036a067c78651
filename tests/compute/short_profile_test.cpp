// Profiles with memory and a peak rate alone.

#include "compute/short_profile.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

GpuProfile load(const std::string& text) {
  return load_gpu_profile(config::parse("own.yaml", "name: own\n" + text));
}

GpuProfile reference(const std::string& name = "a100_sxm4_80gb") {
  return load_gpu_facts(config::load(std::string(TRAINYARD_SOURCE_DIR "/platforms/gpus/") + name + ".yaml"));
}

const char* const two_figures = "memory: {capacity: 24 GB}\nmatrix: {fp16: {peak: 156 TFLOP/s}}\n";

}  // namespace

TEST_CASE("memory and one peak are a profile; all else is assumed, in proportion to a reference") {
  const GpuProfile gpu = load(two_figures);
  const GpuProfile a100 = reference();
  const double ratio = gpu.matrix.fp16->peak.value / a100.matrix.fp16->peak.value;
  CHECK(gpu.like == "a100_sxm4_80gb");
  CHECK(gpu.matrix.fp32.peak.value.si() == doctest::Approx(ratio * a100.matrix.fp32.peak.value.si()));
  CHECK(gpu.memory.bandwidth.value.si() == doctest::Approx(ratio * a100.memory.bandwidth.value.si()));
  CHECK(gpu.memory.bandwidth.provenance == Provenance::assumed);
  REQUIRE(gpu.matrix.bf16);
  CHECK(gpu.matrix.bf16->peak.provenance == Provenance::assumed);
  REQUIRE(gpu.matrix.fp16->gemm);
  CHECK(gpu.matrix.fp16->gemm->provenance == Provenance::assumed);
  CHECK(gpu.matrix.fp16->gemm->value.efficiency == a100.matrix.fp16->gemm->value.efficiency);
  CHECK(gpu.vector.softmax.provenance == Provenance::assumed);
  CHECK(gpu.roofline.provenance == Provenance::assumed);
  CHECK(gpu.compute_capability.value == 8.0);
  CHECK(gpu.calibration->scaled_from == "a100_sxm4_80gb");
  CHECK(gpu.tdp.value == Watts());  // unknown: no energy
}

TEST_CASE("what a short profile states is kept") {
  const GpuProfile gpu = load(
      "like: h100_sxm_80gb\ncompute_capability: 8.9\nmemory: {capacity: 24 GB, bandwidth: 1008 GB/s}\n"
      "tdp: 450 W\nmatrix: {fp16: {peak: 165 TFLOP/s}, fp32: {peak: 82.6 TFLOP/s}}\n"
      "vector: {softmax: 0.5}\n");
  CHECK(gpu.memory.bandwidth.value == Bandwidth(1008e9));
  CHECK(gpu.matrix.fp32.peak.value == FlopRate(82.6e12));
  CHECK(gpu.vector.softmax.value == 0.5);
  CHECK(gpu.vector.elementwise.value == reference("h100_sxm_80gb").vector.elementwise.value);
  CHECK(gpu.compute_capability.value == 8.9);
  CHECK(gpu.power);
  CHECK_FALSE(gpu.matrix.fp8);  // never added
  // a product is its data sheet here, not the profile with recorded ops
  CHECK(load("like: NVIDIA H100 80GB HBM3\nmemory: {capacity: 24 GB}\nmatrix: {fp32: {peak: 9 TFLOP/s}}\n")
            .like_file == gpu.like_file);
}

TEST_CASE("a GPU with a peak in fp32 alone gets no tensor cores") {
  const GpuProfile gpu = load("memory: {capacity: 12 GB}\nmatrix: {fp32: {peak: 7 TFLOP/s}}\n");
  CHECK_FALSE(gpu.matrix.fp16);
  CHECK_FALSE(gpu.matrix.tf32);
  CHECK(gpu.matrix.fp32.gemm);
}

TEST_CASE("twice the peak with twice the bandwidth is twice the rates") {
  const GpuProfile one = load(two_figures);
  const GpuProfile two = load("memory: {capacity: 24 GB}\nmatrix: {fp16: {peak: 312 TFLOP/s}}\n");
  CHECK(two.matrix.fp32.peak.value.si() == doctest::Approx(2 * one.matrix.fp32.peak.value.si()));
  CHECK(two.memory.bandwidth.value.si() == doctest::Approx(2 * one.memory.bandwidth.value.si()));
}

TEST_CASE("complete profiles are not touched") {
  const GpuProfile gpu = reference("t4");
  CHECK_FALSE(is_short(gpu));
  CHECK_FALSE(gpu.like);
  CHECK(gpu.like_file.empty());
}

TEST_CASE("no peak, an unknown reference, and a reference that is short are errors") {
  const auto errors = [](const std::string& text) {
    std::string all;
    for (const Diagnostic& one : errors_of([&] { load(text); })) all += to_string(one);
    return all;
  };
  CHECK(errors("memory: {capacity: 24 GB}\nmatrix: {}\n").find("no peak rate") != std::string::npos);
  CHECK(errors("memory: {capacity: 24 GB}\n").find("matrix") != std::string::npos);
  CHECK(errors(std::string("like: a100_sxm4_80bg\n") + two_figures).find("a100_sxm4_80gb") !=
        std::string::npos);
}
