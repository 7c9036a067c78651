#include "calibration/calibrate_gpu.hpp"
#include "compute/op_time.hpp"
#include "errors_of.hpp"

#include <doctest/doctest.h>
#include <optional>
#include <string>

using namespace trainyard;

namespace {

RecordingFacts h100_facts() {
  RecordingFacts facts;
  facts.gpu = "NVIDIA H100 80GB HBM3";
  facts.compute_capability = 9.0;
  facts.sm_count = 132;
  facts.sm_clock_mhz = 1980;
  facts.memory_capacity = Bytes(81559 * 1048576.0);
  facts.memory_bandwidth = Bandwidth(3352e9);
  facts.power_limit = Watts(700);
  return facts;
}

std::string missing_fact(RecordingFacts facts) {
  const Diagnostic error = only_error([&] { specification_of(facts, "my_gpu"); });
  CHECK(error.hint.find("--specification") != std::string::npos);
  return error.message;
}

double teraflops(const std::optional<MatrixRates>& rates) { return rates.value().peak.value.si() / 1e12; }

}  // namespace

TEST_CASE("what a recording says of an H100 makes its specification") {
  const GpuProfile gpu = specification_of(h100_facts(), "my_h100");
  CHECK(gpu.name == "my_h100");
  CHECK(gpu.title == "NVIDIA H100 80GB HBM3");
  CHECK(gpu.compute_capability.value == 9.0);
  CHECK(gpu.memory.capacity.value == Bytes(81559 * 1048576.0));
  CHECK(gpu.memory.bandwidth.value == Bandwidth(3352e9));
  CHECK(gpu.tdp.value == Watts(700));
  CHECK(gpu.matrix.fp32.peak.value.si() / 1e12 == doctest::Approx(66.9).epsilon(1e-3));
  CHECK(teraflops(gpu.matrix.tf32) == doctest::Approx(535.3).epsilon(1e-3));
  CHECK(teraflops(gpu.matrix.fp16) == doctest::Approx(1070).epsilon(1e-3));
  CHECK(teraflops(gpu.matrix.bf16) == doctest::Approx(1070).epsilon(1e-3));
  CHECK(gpu.matrix.fp32.peak.provenance == Provenance::specified);
  CHECK(gpu.matrix.fp32.peak.source.starts_with("132 multiprocessors x 1980 MHz x 256 per clock; "));
  CHECK_FALSE(gpu.matrix.fp32.gemm);
  CHECK_FALSE(gpu.matrix.fp32.conv);
}

TEST_CASE("peaks by architecture are those the data sheets state") {
  const auto specification = [](double compute_capability, double count, double clock) {
    RecordingFacts facts = h100_facts();
    facts.compute_capability = compute_capability;
    facts.sm_count = count;
    facts.sm_clock_mhz = clock;
    return specification_of(facts, "gpu");
  };
  const GpuProfile v100 = specification(7.0, 80, 1530);
  CHECK(v100.matrix.fp32.peak.value.si() == doctest::Approx(15.7e12).epsilon(5e-3));
  CHECK(teraflops(v100.matrix.fp16) == doctest::Approx(125).epsilon(5e-3));
  CHECK(v100.sms.value().value == 80);
  CHECK(v100.kernel_share.value().provenance == Provenance::assumed);
  CHECK_FALSE(v100.matrix.bf16);
  CHECK_FALSE(v100.matrix.tf32);
  const GpuProfile p100 = specification(6.0, 56, 1480);
  CHECK(p100.matrix.fp32.peak.value.si() == doctest::Approx(10.6e12).epsilon(5e-3));
  CHECK_FALSE(p100.matrix.fp16);
  const GpuProfile t4 = specification(7.5, 40, 1590);
  CHECK(t4.matrix.fp32.peak.value.si() == doctest::Approx(8.1e12).epsilon(1e-2));
  CHECK(teraflops(t4.matrix.fp16) == doctest::Approx(65).epsilon(5e-3));
  const GpuProfile a100 = specification(8.0, 108, 1410);
  CHECK(a100.matrix.fp32.peak.value.si() == doctest::Approx(19.5e12).epsilon(5e-3));
  CHECK(teraflops(a100.matrix.tf32) == doctest::Approx(156).epsilon(5e-3));
  CHECK(teraflops(a100.matrix.bf16) == doctest::Approx(312).epsilon(5e-3));
}

TEST_CASE("a fact that is needed and missing is named") {
  const auto without = [](auto fact) {
    RecordingFacts facts = h100_facts();
    (facts.*fact).reset();
    return missing_fact(facts);
  };
  const auto names = [](const std::string& message, const std::string& fact) {
    return message.find("'" + fact + "'") != std::string::npos;
  };
  CHECK(names(without(&RecordingFacts::compute_capability), "compute_capability"));
  CHECK(names(without(&RecordingFacts::sm_count), "sm_count"));
  CHECK(names(without(&RecordingFacts::sm_clock_mhz), "sm_clock"));
  CHECK(names(without(&RecordingFacts::memory_capacity), "memory_capacity"));
  CHECK(names(without(&RecordingFacts::memory_bandwidth), "memory_bandwidth"));
}

TEST_CASE("a compute capability whose peaks nobody has put down is an error") {
  RecordingFacts facts = h100_facts();
  facts.compute_capability = 12.0;
  CHECK(missing_fact(facts).find("compute capability 12 ") != std::string::npos);
}

TEST_CASE("a specification of facts reads back, also where the power limit could not be read") {
  for (const bool has_power : {true, false}) {
    RecordingFacts facts = h100_facts();
    if (!has_power) facts.power_limit.reset();
    const GpuProfile gpu = specification_of(facts, "my_h100");
    const GpuProfile read = load_gpu_profile(config::parse("my_h100.yaml", profile_text(gpu)));
    CHECK(profile_text(read) == profile_text(gpu));
    CHECK(read.tdp == gpu.tdp);
    CHECK(read.matrix.fp32.peak == gpu.matrix.fp32.peak);
    CHECK(read.vector.t0 == gpu.vector.t0);
  }
}

TEST_CASE("before it is measured, every rate of a specification counts as assumed") {
  const GpuProfile gpu = specification_of(h100_facts(), "my_h100");
  Op op;
  op.bytes = Bytes(1e9);
  op.flops = Flops(1e9);
  for (const OpKind kind : {OpKind::gemm, OpKind::conv_forward, OpKind::elementwise, OpKind::softmax}) {
    op.kind = kind;
    const OpTime time = op_time(gpu, Precision::bf16, op);
    CHECK(time.source == ComputeSource::roofline);
    CHECK(time.duration.si() > 1e9 / 3352e9);
    CHECK(time.duration.si() < 2e9 / 3352e9);
  }
}
