#include "compute/op_time.hpp"

#include "compute/pointwise.hpp"
#include "compute/tiny_gpu.hpp"
#include "config/diagnostic.hpp"
#include "workload/make_trace.hpp"
#include "workload/resnet.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

GpuProfile tiny() { return load_gpu_profile(config::parse("tiny.yaml", tiny_gpu)); }

GpuProfile v100() {
  return load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/v100_sxm3_32gb.yaml"));
}

const Model& resnet50() {
  static const Model model{"resnet50", "", resnet_layers({.blocks = {3, 4, 6, 3}}), std::nullopt};
  return model;
}

Op conv(OpKind pass, ConvShape shape, double flops, double bytes) {
  Op op;
  op.kind = pass;
  op.shape = shape;
  op.flops = Flops(flops);
  op.bytes = Bytes(bytes);
  return op;
}

Op vector_op(OpKind kind, double bytes) {
  Op op;
  op.kind = kind;
  op.bytes = Bytes(bytes);
  return op;
}

ConvShape windowed(int kernel, int stride, int channels = 64) {
  ConvShape shape = pointwise;
  shape.in_channels = channels;
  shape.kernel_h = shape.kernel_w = kernel;
  shape.stride = stride;
  return shape;
}

struct Sum {
  double seconds = 0;
  double shares[3] = {};
};

/// All kernels of a step of ResNet-50, one after the other.
Sum sum_of(const GpuProfile& gpu, int batch, Precision precision) {
  Sum sum;
  for (const Op& op : make_trace(resnet50(), batch, precision, Optimizer::momentum).ops) {
    const OpTime time = op_time(gpu, precision, op);
    sum.seconds += time.duration.si();
    sum.shares[static_cast<int>(time.source)] += time.duration.si();
  }
  for (double& share : sum.shares) share /= sum.seconds;
  return sum;
}

}  // namespace

TEST_CASE("each class and pass of a convolution has its own efficiency") {
  const GpuProfile gpu = tiny();
  const auto time = [&](OpKind pass, ConvShape shape) {
    return op_time(gpu, Precision::fp32, conv(pass, shape, 1e10, 1)).duration.si();
  };
  const double t0 = 20e-6;
  CHECK(time(OpKind::conv_forward, windowed(7, 2, 3)) == doctest::Approx(1e10 / 5e12 + t0));
  CHECK(time(OpKind::conv_forward, windowed(1, 1)) == doctest::Approx(1e10 / 8e12 + t0));
  CHECK(time(OpKind::conv_forward, windowed(1, 2)) == doctest::Approx(1e10 / 4e12 + t0));
  CHECK(time(OpKind::conv_forward, windowed(3, 1)) == doctest::Approx(1e10 / 16e12 + t0));
  CHECK(time(OpKind::conv_forward, windowed(3, 2)) == doctest::Approx(1e10 / 6e12 + t0));
  CHECK(time(OpKind::conv_dgrad, windowed(3, 2)) == doctest::Approx(1e10 / 3e12 + t0));
  CHECK(time(OpKind::conv_wgrad, windowed(3, 2)) == doctest::Approx(1e10 / 6e12 + t0));
}

TEST_CASE("a convolution that moves more than it computes takes its bytes' time") {
  const OpTime time = op_time(tiny(), Precision::fp32, conv(OpKind::conv_forward, pointwise, 1, 1e9));
  CHECK(time.duration.si() == doctest::Approx(1e9 / 0.5e12 + 20e-6));
  CHECK(time.source == ComputeSource::fitted);
}

TEST_CASE("a class without an efficiency, and an unknown shape, fall back to the roofline") {
  const GpuProfile gpu = tiny();
  const OpTime first = op_time(gpu, Precision::fp32, conv(OpKind::conv_dgrad, windowed(7, 2, 3), 1e10, 1));
  CHECK(first.duration.si() == doctest::Approx(1e10 / 5e12 + 10e-6));
  CHECK(first.source == ComputeSource::roofline);
  Op shapeless = conv(OpKind::conv_forward, pointwise, 1e10, 1);
  shapeless.shape = {};
  CHECK(op_time(gpu, Precision::fp32, shapeless).source == ComputeSource::roofline);
}

TEST_CASE(
    "a convolution in groups has the roofline: matrix units for wide groups, bandwidth for depthwise ones") {
  const auto time = [](int groups, double flops, double bytes) {
    ConvShape shape = windowed(3, 1);
    shape.in_channels = shape.out_channels = 64;
    shape.groups = groups;
    return op_time(tiny(), Precision::fp16, conv(OpKind::conv_forward, shape, flops, bytes));
  };
  // fp16: 100 TFLOP/s of matrix units and 10 TFLOP/s of ordinary cores, half of which the roofline reaches
  CHECK(time(4, 1e12, 1).duration.si() == doctest::Approx(1e12 / 50e12 + 10e-6));
  CHECK(time(8, 1e12, 1).duration.si() == doctest::Approx(1e12 / 5e12 + 10e-6));
  CHECK(time(64, 18e6, 1e9).duration.si() == doctest::Approx(1e9 / 0.5e12 + 10e-6));
  CHECK(time(64, 18e6, 1e9).source == ComputeSource::roofline);
}

TEST_CASE("a measured kernel comes before the fit") {
  GpuProfile gpu = tiny();
  gpu.kernel_table = kernel_table(
      read_recording("k.csv",
                     "op,dtype,shape,time_us\nconv_forward,fp32,n16 c64 h56 w56 k256 r1x1 s1 p0x0,777\n"
                     "gemm,fp32,m2 n3 k4 nt,55\n"));
  const OpTime time = op_time(gpu, Precision::fp32, conv(OpKind::conv_forward, pointwise, 1e10, 1));
  CHECK(time.duration == Seconds(777 * 1e-6));
  CHECK(time.source == ComputeSource::measured);
  Op gemm = conv(OpKind::gemm, pointwise, 1e10, 1);
  gemm.shape = GemmShape{1, 2, 3, 4, false, true};
  CHECK(op_time(gpu, Precision::fp32, gemm).duration == Seconds(55 * 1e-6));
  gemm.shape = GemmShape{1, 4096, 4096, 4096, false, true};  // far from the measured one
  CHECK(op_time(gpu, Precision::fp32, gemm).duration.si() ==
        doctest::Approx(1e10 / 8e12 + 10e-6).epsilon(1e-3));
}

TEST_CASE("a product whose time is derived counts as fitted") {
  GpuProfile gpu = tiny();
  gpu.kernel_table = kernel_table(read_recording(
      "k.csv", "op,dtype,shape,time_us,derived\ngemm,fp32,m2 n3 k4 nt,55,yes\ngemm,fp32,m4 n3 k4 nt,66,-\n"));
  Op gemm = conv(OpKind::gemm, pointwise, 1e10, 1);
  gemm.shape = GemmShape{1, 2, 3, 4, false, true};
  const OpTime derived = op_time(gpu, Precision::fp32, gemm);
  CHECK(derived.duration == Seconds(55 * 1e-6));
  CHECK(derived.source == ComputeSource::fitted);
  gemm.shape = GemmShape{1, 4, 3, 4, false, true};
  CHECK(op_time(gpu, Precision::fp32, gemm).source == ComputeSource::measured);
}

TEST_CASE("beyond the measured batches the fit is used, but never below the largest or above the smallest") {
  GpuProfile gpu = tiny();
  gpu.kernel_table = kernel_table(
      read_recording("k.csv",
                     "op,dtype,shape,time_us\nconv_forward,fp32,n16 c64 h56 w56 k256 r1x1 s1 p0x0,5000\n"
                     "conv_forward,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,100\n"));
  ConvShape shape = pointwise;
  shape.batch = 17;
  const OpTime above = op_time(gpu, Precision::fp32, conv(OpKind::conv_forward, shape, 1, 1));
  CHECK(above.duration == Seconds(5000 * 1e-6));
  CHECK(above.source == ComputeSource::fitted);
  shape.batch = 4;
  const OpTime below = op_time(gpu, Precision::fp32, conv(OpKind::conv_forward, shape, 1e10, 1));
  CHECK(below.duration == Seconds(100 * 1e-6));
  CHECK(below.source == ComputeSource::fitted);
}

TEST_CASE("in 16 bits a convolution takes the fp32 kernel where that is faster") {
  const GpuProfile gpu = tiny();
  const Op first = conv(OpKind::conv_forward, windowed(7, 2, 3), 1e10, 1);
  CHECK(op_time(gpu, Precision::fp16, first).duration == op_time(gpu, Precision::fp32, first).duration);
  const Op spatial = conv(OpKind::conv_forward, windowed(3, 1), 1e10, 1);
  CHECK(op_time(gpu, Precision::amp, spatial).duration.si() == doctest::Approx(1e10 / 40e12 + 20e-6));
}

TEST_CASE("vector ops take their bytes' time at the fraction of their kind") {
  const GpuProfile gpu = tiny();
  const auto time = [&](OpKind kind) { return op_time(gpu, Precision::fp32, vector_op(kind, 1e9)); };
  CHECK(time(OpKind::elementwise).duration.si() == doctest::Approx(1e9 / 0.8e12 + 2e-6));
  CHECK(time(OpKind::elementwise).source == ComputeSource::fitted);
  CHECK(time(OpKind::batch_norm_forward).duration.si() == doctest::Approx(1e9 / 0.4e12 + 2e-6));
  CHECK(time(OpKind::batch_norm_backward).source == ComputeSource::roofline);
  CHECK(time(OpKind::softmax).duration.si() == doctest::Approx(1e9 / 0.5e12 + 2e-6));
  CHECK(time(OpKind::pooling).duration == time(OpKind::optimizer).duration);
}

TEST_CASE("fused attention takes the time of a matrix product at a part of its efficiency") {
  const GpuProfile gpu = v100();
  Op op;
  op.kind = OpKind::attention;
  op.flops = Flops(1e13);
  const OpTime attention = op_time(gpu, Precision::fp16, op);
  CHECK(use_of(gpu, Precision::fp16, op).sms == 1);
  op.kind = OpKind::gemm;
  CHECK(attention.duration / op_time(gpu, Precision::fp16, op).duration ==
        doctest::Approx(1 / 0.6).epsilon(1e-3));
  CHECK(attention.source == ComputeSource::roofline);
}

TEST_CASE("fused attention reaches the part of the peak that the profile states") {
  GpuProfile gpu = v100();
  MatrixRates& rates = *gpu.matrix.fp16;
  rates.attention = Sourced<double>{.value = 0.25, .provenance = Provenance::measured, .source = "a paper"};
  Op op;
  op.kind = OpKind::attention;
  op.flops = Flops(1e13);
  const OpTime attention = op_time(gpu, Precision::fp16, op);
  const Seconds t0 = rates.gemm->value.t0;
  CHECK((attention.duration - t0).si() == doctest::Approx(1e13 / (0.25 * rates.peak.value.si())));
  CHECK(attention.source == ComputeSource::fitted);
}

TEST_CASE("an op that carries a duration keeps it") {
  const GpuProfile gpu = tiny();
  Op op = conv(OpKind::conv_forward, pointwise, 1e10, 1);
  op.duration = Seconds(0.25);
  CHECK(op_time(gpu, Precision::fp32, op).duration == Seconds(0.25));
  CHECK(op_time(gpu, Precision::fp32, op).source == ComputeSource::measured);
  op.source = ComputeSource::roofline;
  CHECK(op_time(gpu, Precision::fp32, op).source == ComputeSource::roofline);
  op.duration.reset();
  op.kind = OpKind::measured;
  CHECK_THROWS_AS(op_time(gpu, Precision::fp32, op), InputError);
}

TEST_CASE("tf32 on a GPU without TF32 units is fp32, bf16 without such a unit is an input error") {
  const GpuProfile gpu = v100();
  CHECK(matrix_dtype(gpu, Precision::tf32) == Dtype::fp32);
  CHECK(peak_rate(gpu, Precision::tf32) == FlopRate(15.7e12));
  CHECK(peak_rate(gpu, Precision::amp) == FlopRate(125e12));
  for (const Precision precision : {Precision::bf16, Precision::amp_bf16}) {
    try {
      matrix_dtype(gpu, precision);
      FAIL("no error");
    } catch (const InputError& error) {
      REQUIRE(error.diagnostics().size() == 1);
      CHECK(error.diagnostics()[0].message.find("v100_sxm3_32gb has no bf16 matrix unit") == 0);
      CHECK(error.diagnostics()[0].hint == "use one of fp32, tf32, fp16, amp");
    }
  }
}

TEST_CASE("ResNet-50 at batch 16 on a V100 uses DeepBench's own times where it has the shape") {
  const GpuProfile gpu = v100();
  const Trace trace = make_trace(resnet50(), 16, Precision::fp32, Optimizer::momentum);
  bool has_conv1 = false;
  for (const Op& op : trace.ops) {
    if (op.layer != "conv1") continue;
    has_conv1 = true;
    const OpTime time = op_time(gpu, Precision::fp32, op);
    CHECK(time.source == ComputeSource::measured);
    CHECK(time.duration == Seconds((op.kind == OpKind::conv_forward ? 304 : 553) * 1e-6));
  }
  CHECK(has_conv1);
  CHECK(sum_of(gpu, 16, Precision::fp32).shares[0] > 0.5);
}

TEST_CASE(
    "the kernels of ResNet-50 on one V100 sum to what published runs take, with nothing fitted to them") {
  const GpuProfile gpu = v100();
  // published: fp32 batch 128 306-398 images/s on V100-SXM2, 377-432 on DGX-2; 16-bit batch 256 747-1492
  const Sum fp32 = sum_of(gpu, 128, Precision::fp32);
  CHECK(128 / fp32.seconds == doctest::Approx(380.7).epsilon(1e-3));
  CHECK(fp32.shares[0] == 0);  // DeepBench stops at batch 16
  CHECK(fp32.shares[1] == doctest::Approx(0.815).epsilon(1e-3));
  CHECK(fp32.shares[2] == doctest::Approx(0.185).epsilon(2e-3));
  CHECK(256 / sum_of(gpu, 256, Precision::amp).seconds == doctest::Approx(1246).epsilon(1e-3));
  CHECK(256 / sum_of(gpu, 256, Precision::fp16).seconds == doctest::Approx(1251).epsilon(1e-3));
}

TEST_CASE("a larger batch never makes a step shorter, and by the curves alone none of its kernels") {
  const GpuProfile gpu = v100();
  GpuProfile curves = gpu;
  curves.kernel_table = {};
  CHECK(rc::check([&] {
    const int batch = *rc::gen::inRange(1, 300);
    const int more = batch + *rc::gen::inRange(1, 40);
    const auto precision = *rc::gen::elementOf(std::vector<Precision>{Precision::fp32, Precision::amp});
    RC_ASSERT(sum_of(gpu, batch, precision).seconds <= sum_of(gpu, more, precision).seconds);
    const Trace small = make_trace(resnet50(), batch, precision, Optimizer::sgd);
    const Trace large = make_trace(resnet50(), more, precision, Optimizer::sgd);
    for (std::size_t i = 0; i < small.ops.size(); ++i) {
      RC_ASSERT(op_time(curves, precision, small.ops[i]).duration <=
                op_time(curves, precision, large.ops[i]).duration);
    }
  }));
}

TEST_CASE("more peak, more bandwidth or a higher efficiency is never slower") {
  CHECK(rc::check([] {
    GpuProfile gpu = tiny();
    GpuProfile better = gpu;
    const double factor = 1 + *rc::gen::inRange(0, 1000) / 100.0;
    if (*rc::gen::arbitrary<bool>()) {
      better.matrix.fp32.peak.value = factor * better.matrix.fp32.peak.value;
      better.matrix.fp16->peak.value = factor * better.matrix.fp16->peak.value;
    } else {
      better.memory.bandwidth.value = factor * better.memory.bandwidth.value;
    }
    const int batch = *rc::gen::inRange(1, 256);
    const auto precision = *rc::gen::elementOf(std::vector<Precision>{Precision::fp32, Precision::fp16});
    for (const Op& op : make_trace(resnet50(), batch, precision, Optimizer::adam).ops) {
      RC_ASSERT(op_time(better, precision, op).duration <= op_time(gpu, precision, op).duration);
    }
  }));
}

TEST_CASE("an op needs all of what bounds it and a part of the rest") {
  const GpuProfile gpu = tiny();  // 10 TFLOP/s in fp32, 100 in fp16, 1 TB/s
  const Op product = conv(OpKind::gemm, {}, 10e12, 0.25e12);
  CHECK(use_of(gpu, Precision::fp32, product) == GpuUse{.sms = 1, .memory = 0.25});
  CHECK(use_of(gpu, Precision::amp, product) == GpuUse{.sms = 0.4, .memory = 1});
  CHECK(use_of(gpu, Precision::bf16, product) == GpuUse{.sms = 1, .memory = 0.25});  // no such unit
  CHECK(use_of(gpu, Precision::amp, vector_op(OpKind::elementwise, 1e9)) == moving_bytes);
  CHECK(use_of(gpu, Precision::fp32, Op{}) == GpuUse{.sms = 1, .memory = 0});  // unknown work
}

TEST_CASE("a kernel is as slow as what it needs most is short, and keeps half of everything") {
  CHECK(slowdown({.sms = 1, .memory = 0.5}, {}) == 1);
  CHECK(slowdown({.sms = 1, .memory = 0.5}, {.sms = 0.2, .memory = 0.25}) == 1.25);
  CHECK(slowdown({.sms = 0.1, .memory = 1}, {.sms = 0.2, .memory = 0.25}) == doctest::Approx(4.0 / 3));
  CHECK(slowdown({.sms = 0.8, .memory = 0.75}, {.sms = 0.2, .memory = 0.25}) == 1);
  CHECK(slowdown({.sms = 1, .memory = 1}, {.sms = 1, .memory = 0.9}) == 2);
  CHECK(slowdown({.sms = 1, .memory = 0, .kept = 0.8}, {.sms = 1, .memory = 0}) == 1.25);
}
