#include "calibration/fit_profile.hpp"

#include "calibration/synthetic.hpp"
#include "compute/op_time.hpp"
#include "compute/tiny_gpu.hpp"
#include "config/write.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

GpuProfile tiny_specification() { return load_gpu_profile(config::parse("tiny.yaml", tiny_gpu)); }

FittedProfile fitted_to(const GpuProfile& specification, const Recording& recording) {
  return fit_profile(specification, gather({recording}));
}

std::string as_text(const auto& part) { return config::write(part); }

constexpr ConvFit known_fit{0.2, 0.7, 0.45, 1.7, 0.55, 0.65, Seconds(15e-6)};

}  // namespace

TEST_CASE("what no kernel covers stays as the specification has it") {
  const GpuProfile before = tiny_specification();
  const FittedProfile fitted = fitted_to(before, gemm_recording(Dtype::fp32, {0.62, 0.55, Seconds(8e-6)}));
  const GpuProfile& after = fitted.gpu;
  CHECK(after.matrix.fp32.gemm->value.efficiency == doctest::Approx(0.62).epsilon(0.01));
  CHECK(after.matrix.fp32.gemm->provenance == Provenance::fitted);
  CHECK(after.matrix.fp32.gemm->source == "gemm fp32");
  CHECK(after.kernel_table.gemms.size() == 64);
  CHECK(fitted.fitted == std::map<std::string, int>{{"gemm fp32", 64}});
  CHECK(fitted.dispatched.empty());
  GpuProfile rest = after;
  rest.matrix.fp32.gemm = before.matrix.fp32.gemm;
  CHECK(as_text(rest) == as_text(before));
}

TEST_CASE("a fit says what the caller says it rests on") {
  const MeasuredKernels measured =
      gather({gemm_recording(Dtype::fp16, {0.5, 0.5, Seconds(8e-6)}, FlopRate(100e12))});
  const GpuProfile gpu =
      fit_profile(tiny_specification(), measured, {{"gemm fp16", "64 kernels"}, {"gemm fp32", "none"}}).gpu;
  CHECK(gpu.matrix.fp16->gemm->provenance == Provenance::fitted);
  CHECK(gpu.matrix.fp16->gemm->source == "64 kernels");
  CHECK(gpu.matrix.fp16->gemm->value.efficiency == doctest::Approx(0.5).epsilon(0.01));
  CHECK(gpu.matrix.fp32.gemm->source == "a test");
}

TEST_CASE("too few kernels, or kernels without a unit, change nothing but the table") {
  Recording few = gemm_recording(Dtype::fp32, {0.62, 0.55, Seconds(8e-6)});
  few.rows.resize(7);
  const FittedProfile of_few = fitted_to(tiny_specification(), few);
  CHECK(of_few.fitted.empty());
  CHECK(as_text(of_few.gpu) == as_text(tiny_specification()));
  CHECK(of_few.gpu.kernel_table.gemms.size() == 7);
  const FittedProfile without_unit =
      fitted_to(tiny_specification(), together(gemm_recording(Dtype::bf16, {0.62, 0.55, Seconds(8e-6)}),
                                               conv_recording(OpKind::conv_forward, Dtype::tf32, known_fit)));
  CHECK(without_unit.fitted.empty());
  CHECK(as_text(without_unit.gpu) == as_text(tiny_specification()));
}

TEST_CASE("each pass of convolutions is fitted to its own kernels") {
  const GpuProfile before = tiny_specification();
  const FittedProfile fitted = fitted_to(before, conv_recording(OpKind::conv_wgrad, Dtype::fp32, known_fit));
  CHECK(fitted.fitted == std::map<std::string, int>{{"conv_wgrad fp32", 60}});
  const ConvPasses& after = *fitted.gpu.matrix.fp32.conv;
  CHECK(after.wgrad.value.spatial_3x3 == doctest::Approx(1.7).epsilon(0.01));
  CHECK(after.wgrad.value.pointwise == doctest::Approx(0.7).epsilon(0.01));
  CHECK(after.wgrad.provenance == Provenance::fitted);
  CHECK(as_text(after.forward.value) == as_text(before.matrix.fp32.conv->forward.value));
  CHECK(after.dgrad.source == "a test");
  CHECK_FALSE(fitted.gpu.matrix.fp32.conv_nhwc);
}

TEST_CASE("a layout of its own starts from the other layout's fits") {
  const GpuProfile before = tiny_specification();
  const GpuProfile after =
      fitted_to(before, conv_recording(OpKind::conv_forward, Dtype::fp32, known_fit, Layout::nhwc)).gpu;
  CHECK(as_text(after.matrix.fp32.conv->forward.value) == as_text(before.matrix.fp32.conv->forward.value));
  REQUIRE(after.matrix.fp32.conv_nhwc);
  const ConvPasses& nhwc = *after.matrix.fp32.conv_nhwc;
  CHECK(nhwc.forward.value.spatial_3x3 == doctest::Approx(1.7).epsilon(0.01));
  CHECK(nhwc.dgrad.provenance == Provenance::assumed);
  CHECK(nhwc.dgrad.source == "as in nchw, until it is measured");
  CHECK(as_text(nhwc.dgrad.value) == as_text(before.matrix.fp32.conv->dgrad.value));
}

TEST_CASE("on a GPU without any fit a pass that nobody measured is assumed to be as one that was") {
  GpuProfile bare = tiny_specification();
  bare.matrix.fp32.conv.reset();
  const GpuProfile after = fitted_to(bare, conv_recording(OpKind::conv_forward, Dtype::fp32, known_fit)).gpu;
  REQUIRE(after.matrix.fp32.conv);
  const ConvPasses& passes = *after.matrix.fp32.conv;
  CHECK(passes.forward.provenance == Provenance::fitted);
  for (const Sourced<ConvFit>* missing : {&passes.dgrad, &passes.wgrad}) {
    CHECK(missing->provenance == Provenance::assumed);
    CHECK(as_text(missing->value) == as_text(passes.forward.value));
    CHECK_FALSE(missing->source.empty());
  }
  GpuProfile read = load_gpu_profile(config::parse("tiny.yaml", config::write(after)));
  CHECK(as_text(read) == as_text(after));
}

TEST_CASE("vector ops are fitted by kind and share the median of their fixed times") {
  const Recording recording = together(together(vector_recording(OpKind::elementwise, 0.9, Seconds(2e-6)),
                                                vector_recording(OpKind::softmax, 0.6, Seconds(9e-6))),
                                       vector_recording(OpKind::optimizer, 0.75, Seconds(4e-6)));
  const FittedProfile fitted = fitted_to(tiny_specification(), recording);
  const VectorRates& vector = fitted.gpu.vector;
  CHECK(vector.elementwise.value == doctest::Approx(0.9).epsilon(0.01));
  CHECK(vector.softmax.value == doctest::Approx(0.6).epsilon(0.01));
  CHECK(vector.optimizer.value == doctest::Approx(0.75).epsilon(0.01));
  CHECK(vector.optimizer.provenance == Provenance::fitted);
  CHECK(vector.t0.value.si() == doctest::Approx(4e-6).epsilon(0.01));
  CHECK(vector.t0.provenance == Provenance::fitted);
  CHECK(vector.pooling.provenance == Provenance::assumed);
  CHECK(vector.pooling.value == 0.8);
  CHECK(fitted.fitted == std::map<std::string, int>{{"elementwise", 20}, {"optimizer", 20}, {"softmax", 20}});
}

TEST_CASE("both directions of batch normalisation are fitted together") {
  const Recording recording = together(vector_recording(OpKind::batch_norm_forward, 0.5, Seconds(2e-6), 6),
                                       vector_recording(OpKind::batch_norm_backward, 0.5, Seconds(2e-6), 6));
  const FittedProfile fitted = fitted_to(tiny_specification(), recording);
  CHECK(fitted.fitted == std::map<std::string, int>{{"batch_norm", 12}});
  CHECK(fitted.gpu.vector.batch_norm.value == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("a framework's timing gives a bandwidth but no fixed time, and kernels alone say more") {
  Recording framework = vector_recording(OpKind::elementwise, 0.6, Seconds(4e-6), 30);
  framework.facts.is_framework_timing = true;
  for (RecordedKernel& row : framework.rows) {
    row.variant = "relu";
    row.time = std::max(row.time, Seconds(40e-6));
  }
  const FittedProfile alone = fitted_to(tiny_specification(), framework);
  CHECK(alone.gpu.vector.elementwise.value == doctest::Approx(0.6).epsilon(0.01));
  CHECK(alone.gpu.vector.elementwise.provenance == Provenance::fitted);
  CHECK(alone.gpu.vector.t0.value == Seconds(2e-6));
  CHECK(alone.gpu.vector.t0.provenance == Provenance::assumed);
  CHECK(alone.gpu.kernel_table.vectors.empty());
  REQUIRE(alone.dispatched.contains("elementwise"));
  CHECK(alone.dispatched.at("elementwise").dispatch.at("relu").si() == doctest::Approx(40e-6).epsilon(0.01));

  const Recording kernels = vector_recording(OpKind::elementwise, 0.9, Seconds(3e-6));
  const FittedProfile both = fit_profile(tiny_specification(), gather({framework, kernels}));
  CHECK(both.gpu.vector.elementwise.value == doctest::Approx(0.9).epsilon(0.01));
  CHECK(both.gpu.vector.t0.value.si() == doctest::Approx(3e-6).epsilon(0.01));
  CHECK(both.dispatched.empty());
}

TEST_CASE("what was fitted is what a simulation then takes") {
  const FittedProfile fitted =
      fitted_to(tiny_specification(), gemm_recording(Dtype::fp32, {0.62, 0.55, Seconds(8e-6)}));
  Op op;
  op.kind = OpKind::gemm;
  op.shape = GemmShape{1, 512, 512, 512, false, false};
  op.flops = work_of(std::get<GemmShape>(op.shape), Dtype::fp32).flops;
  op.bytes = work_of(std::get<GemmShape>(op.shape), Dtype::fp32).bytes;
  const OpTime time = op_time(fitted.gpu, Precision::fp32, op);
  CHECK(time.source == ComputeSource::fitted);
  CHECK(time.duration.si() == doctest::Approx(op.flops.si() / 6.2e12 + 8e-6).epsilon(0.01));
}

TEST_CASE("many products get the six numbers of their curve, few those of a roofline") {
  const GemmCurve known{0.6, 0.7, Seconds(3e-6), 2.5, 150, Seconds(2e-6)};
  const GpuProfile many = fitted_to(tiny_specification(), many_products(Dtype::fp32, known)).gpu;
  const GemmCurve& curve = many.matrix.fp32.gemm->value;
  CHECK(curve.efficiency == doctest::Approx(0.6).epsilon(0.01));
  CHECK(curve.overlap.value() == doctest::Approx(2.5).epsilon(0.01));
  CHECK(curve.fill.value() == doctest::Approx(150).epsilon(0.01));
  CHECK(curve.t_sum.value().si() == doctest::Approx(2e-6).epsilon(0.01));
  Recording few = many_products(Dtype::fp32, known);
  few.rows.resize(160);
  const GpuProfile simple = fitted_to(tiny_specification(), few).gpu;
  CHECK_FALSE(simple.matrix.fp32.gemm->value.overlap);
  CHECK_FALSE(simple.matrix.fp32.gemm->value.fill);
  CHECK_FALSE(simple.matrix.fp32.gemm->value.t_sum);
}
