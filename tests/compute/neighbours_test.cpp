// op_time for an op whose shape was not measured, with measured kernels of other shapes.

#include "compute/curves.hpp"
#include "compute/nearest.hpp"
#include "compute/op_time.hpp"
#include "compute/pointwise.hpp"
#include "compute/tiny_gpu.hpp"
#include "compute/work.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

using namespace trainyard;

namespace {

GpuProfile tiny_with(const std::string& rows) {
  GpuProfile gpu = load_gpu_profile(config::parse("tiny.yaml", tiny_gpu));
  gpu.kernel_table = kernel_table(read_recording("k.csv", "op,variant,dtype,shape,bytes,time_us\n" + rows));
  return gpu;
}

Op product(const GemmShape& shape) {
  Op op;
  op.kind = OpKind::gemm;
  op.shape = shape;
  op.flops = work_of(shape, Dtype::fp32).flops;
  op.bytes = work_of(shape, Dtype::fp32).bytes;
  return op;
}

Op convolution(OpKind pass, const ConvShape& shape, Dtype dtype = Dtype::fp32) {
  Op op;
  op.kind = pass;
  op.shape = shape;
  op.flops = work_of(shape, dtype).flops;
  op.bytes = work_of(shape, dtype).bytes;
  return op;
}

Op of_bytes(OpKind kind, double bytes) {
  Op op;
  op.kind = kind;
  op.bytes = Bytes(bytes);
  return op;
}

double microseconds(const GpuProfile& gpu, const Op& op, Precision precision = Precision::fp32,
                    Layout layout = Layout::nchw) {
  return op_time(gpu, precision, op, layout).duration.si() * 1e6;
}

/// Time from the fp32 curve of tiny's products: 80 % of 10 TFLOP/s, half of 1 TB/s, 10 us.
double curve_of_product(const GemmShape& shape) {
  const Work work = work_of(shape, Dtype::fp32);
  return std::max(work.flops.si() / 8e12, work.bytes.si() / 0.5e12) * 1e6 + 10;
}

const std::string wide_shape = "n16 c64 h56 w56 k256 r1x1 s1 p0x0";

/// The same for pointwise convolutions of tiny's forward pass: 80 % of 10 TFLOP/s, half of 1 TB/s, 20 us.
double curve_of_pointwise(const ConvShape& shape) {
  const Work work = work_of(shape, Dtype::fp32);
  return std::max(work.flops.si() / 8e12, work.bytes.si() / 0.5e12) * 1e6 + 20;
}

ConvShape twice_as_wide() {
  ConvShape shape = pointwise;
  shape.out_channels *= 2;
  return shape;
}

}  // namespace

TEST_CASE("a product next to a measured slow one is slower than its curve, a far one is its curve") {
  const GemmShape measured{1, 512, 512, 512, false, false};
  const GpuProfile gpu =
      tiny_with(fmt::format("gemm,-,fp32,m512 n512 k512 nn,,{}\n", 4 * curve_of_product(measured)));
  const GemmShape near{1, 512, 512, 1024, false, false};
  const double factor = (0.1 + 4.0 / 8) / (0.1 + 1.0 / 8);
  CHECK(microseconds(gpu, product(near)) == doctest::Approx(factor * curve_of_product(near)).epsilon(1e-12));
  CHECK(op_time(gpu, Precision::fp32, product(near)).source == ComputeSource::fitted);
  const GemmShape far{1, 1 << 20, 1 << 15, 1 << 16, false, false};
  CHECK(microseconds(gpu, product(far)) == doctest::Approx(curve_of_product(far)).epsilon(1e-5));
  CHECK(microseconds(gpu, product(measured)) ==
        doctest::Approx(4 * curve_of_product(measured)).epsilon(1e-12));
  CHECK(op_time(gpu, Precision::fp32, product(measured)).source == ComputeSource::measured);
}

TEST_CASE("a product of odd rows says nothing about one of aligned rows, and the other way round") {
  const GemmShape odd{1, 512, 513, 512, false, false};
  const GemmShape aligned{1, 512, 516, 512, false, false};
  const auto slow = [](const GemmShape& shape) {
    return tiny_with(fmt::format("gemm,-,fp32,m512 n{} k512 nn,,{}\n", shape.n, 4 * curve_of_product(shape)));
  };
  const GemmShape near_odd{1, 512, 511, 512, false, false};
  const GemmShape near_aligned{1, 512, 508, 512, false, false};
  CHECK(microseconds(slow(odd), product(near_aligned)) == curve_of_product(near_aligned));
  CHECK(microseconds(slow(odd), product(near_odd)) > 3 * curve_of_product(near_odd));
  CHECK(microseconds(slow(aligned), product(near_odd)) == curve_of_product(near_odd));
  CHECK(microseconds(slow(aligned), product(near_aligned)) > 3 * curve_of_product(near_aligned));
  const GemmShape odd_count{1, 513, 512, 512, false, false};  // m is no row's length
  CHECK(microseconds(slow(aligned), product(odd_count)) > 3 * curve_of_product(odd_count));
}

TEST_CASE("a fast neighbour makes a product faster, and the nearest counts most") {
  const GemmShape wanted{1, 256, 256, 256, false, true};
  const auto row = [](const GemmShape& shape, const std::string& text, double ratio) {
    return fmt::format("gemm,-,fp32,{},,{}\n", text, ratio * curve_of_product(shape));
  };
  const std::string fast = row({1, 512, 256, 256, false, true}, "m512 n256 k256 nt", 0.5);
  const std::string slow = row({1, 2048, 256, 256, false, true}, "m2048 n256 k256 nt", 2);
  const double expected = (0.1 + 0.5 / 8 + 2.0 / 1000) / (0.1 + 1.0 / 8 + 1.0 / 1000);
  CHECK(microseconds(tiny_with(fast + slow), product(wanted)) ==
        doctest::Approx(expected * curve_of_product(wanted)).epsilon(1e-12));
}

TEST_CASE("products of another type say nothing, those with other transposes only if there are no own ones") {
  const GemmShape wanted{1, 512, 512, 1024, false, false};
  const double curve = microseconds(tiny_with(""), product(wanted));
  CHECK(curve == doctest::Approx(curve_of_product(wanted)).epsilon(1e-12));
  CHECK(microseconds(tiny_with("gemm,-,fp16,m512 n512 k512 nn,,9999\n"), product(wanted)) == curve);
  const std::string own = "gemm,-,fp32,m512 n512 k512 nn,,9999\n";
  const std::string other = "gemm,-,fp32,m512 n512 k512 nt,,9999\n";
  const double corrected = microseconds(tiny_with(own), product(wanted));
  CHECK(corrected > 2 * curve);
  CHECK(microseconds(tiny_with(other), product(wanted)) == corrected);
  CHECK(microseconds(tiny_with(own + "gemm,-,fp32,m512 n512 k512 nt,,1\n"), product(wanted)) == corrected);
  // even of the same shape: another kernel, not a measurement of this one
  const GemmShape same{1, 512, 512, 512, false, false};
  CHECK(op_time(tiny_with(other), Precision::fp32, product(same)).source != ComputeSource::measured);
}

TEST_CASE("a convolution is corrected by kernels of its pass, type and class alone") {
  const double ratio = 3;
  const std::string time = fmt::format("{}", ratio * curve_of_pointwise(pointwise));
  const Op wanted = convolution(OpKind::conv_forward, twice_as_wide());
  const double curve = curve_of_pointwise(twice_as_wide());
  const auto with = [&](const std::string& row) { return microseconds(tiny_with(row), wanted); };
  // twice the output channels
  CHECK(with("conv_forward,-,fp32," + wide_shape + ",," + time + "\n") ==
        doctest::Approx(curve * (0.1 + ratio / 8) / (0.1 + 1.0 / 8)).epsilon(1e-12));
  CHECK(with("conv_wgrad,-,fp32," + wide_shape + ",,9999\n") == doctest::Approx(curve).epsilon(1e-12));
  CHECK(with("conv_forward,-,fp16," + wide_shape + ",,9999\n") == doctest::Approx(curve).epsilon(1e-12));
  CHECK(with("conv_forward,nhwc,fp32," + wide_shape + ",,9999\n") == doctest::Approx(curve).epsilon(1e-12));
  CHECK(with("conv_forward,-,fp32,n16 c64 h56 w56 k256 r3x3 s1 p1x1,,9999\n") ==
        doctest::Approx(curve).epsilon(1e-12));
}

TEST_CASE("beyond the measured batches the corrected curve keeps to the measured bounds") {
  const double measured = 5 * curve_of_pointwise(pointwise);
  const GpuProfile gpu = tiny_with(fmt::format("conv_forward,-,fp32,{},,{}\n", wide_shape, measured));
  ConvShape shape = pointwise;
  shape.batch = 32;  // half a step away
  const double nearness = 1 / (1.25 * 1.25 * 1.25);
  const double factor = (0.1 + 5 * nearness) / (0.1 + nearness);
  CHECK(microseconds(gpu, convolution(OpKind::conv_forward, shape)) ==
        doctest::Approx(factor * curve_of_pointwise(shape)).epsilon(1e-12));
  shape.batch = 17;  // the corrected curve is below the largest measured batch
  CHECK(microseconds(gpu, convolution(OpKind::conv_forward, shape)) ==
        doctest::Approx(measured).epsilon(1e-12));
}

TEST_CASE("vector ops are corrected by kernels of their kind, by bytes") {
  const double ratio = 2;
  const double measured = 1e6 / 0.8e12 * 1e6 + 2;
  const GpuProfile gpu = tiny_with(fmt::format("elementwise,add,fp32,e83333,1000000,{}\n", ratio * measured));
  const double factor = (0.1 + ratio / 8) / (0.1 + 1.0 / 8);
  CHECK(microseconds(gpu, of_bytes(OpKind::elementwise, 2e6)) ==
        doctest::Approx(factor * (2e6 / 0.8e12 * 1e6 + 2)).epsilon(1e-12));
  CHECK(microseconds(gpu, of_bytes(OpKind::elementwise, 1e6)) ==
        doctest::Approx((0.1 + ratio) / 1.1 * measured).epsilon(1e-12));
  CHECK(microseconds(gpu, of_bytes(OpKind::softmax, 1e6)) ==
        doctest::Approx(1e6 / 0.5e12 * 1e6 + 2).epsilon(1e-12));
  CHECK(microseconds(gpu, of_bytes(OpKind::elementwise, 0)) == doctest::Approx(2).epsilon(1e-12));
}

TEST_CASE("vector ops are corrected by kernels of their layout and type, where any were measured") {
  const double curve = 1e6 / 0.4e12 * 1e6 + 2;
  const auto kernel = [&](const char* variant, const char* dtype, double ratio) {
    return fmt::format("batch_norm_forward,{},{},e1,1000000,{}\n", variant, dtype, ratio * curve);
  };
  const GpuProfile gpu = tiny_with(kernel("nchw c64", "fp32", 8) + kernel("nchw c64", "fp16", 4) +
                                   kernel("nhwc c64", "fp32", 2));
  const auto ratio = [&](Precision precision, Layout layout) {
    const double time = microseconds(gpu, of_bytes(OpKind::batch_norm_forward, 1e6), precision, layout);
    return time / curve * 1.1 - 0.1;  // the curve itself has a weight of 0.1
  };
  CHECK(ratio(Precision::fp32, Layout::nchw) == doctest::Approx(8));
  CHECK(ratio(Precision::amp, Layout::nchw) == doctest::Approx(4));
  CHECK(ratio(Precision::fp32, Layout::nhwc) == doctest::Approx(2));
  CHECK(ratio(Precision::amp, Layout::nhwc) == doctest::Approx(2));  // of another type, but of this layout
  const GpuProfile without_layouts = tiny_with(kernel("forward", "fp32", 3));
  CHECK(microseconds(without_layouts, of_bytes(OpKind::batch_norm_forward, 1e6), Precision::amp,
                     Layout::nhwc) == doctest::Approx((0.1 + 3) / 1.1 * curve));
}

TEST_CASE("convolutions in nhwc use what was measured in nhwc, and nchw's where that is all there is") {
  const std::string rows =
      "conv_forward,nchw,fp32," + wide_shape + ",,700\nconv_forward,nhwc,fp32," + wide_shape + ",,300\n";
  GpuProfile gpu = tiny_with(rows);
  const Op measured = convolution(OpKind::conv_forward, pointwise);
  const Op wanted = convolution(OpKind::conv_forward, twice_as_wide());
  CHECK(microseconds(gpu, measured, Precision::fp32, Layout::nchw) == doctest::Approx(700));
  CHECK(microseconds(gpu, measured, Precision::fp32, Layout::nhwc) == doctest::Approx(700));
  CHECK(microseconds(gpu, wanted, Precision::fp32, Layout::nhwc) ==
        microseconds(gpu, wanted, Precision::fp32, Layout::nchw));

  gpu.matrix.fp32.conv_nhwc = gpu.matrix.fp32.conv;
  gpu.matrix.fp32.conv_nhwc->forward.value.pointwise = 0.4;
  CHECK(microseconds(gpu, measured, Precision::fp32, Layout::nchw) == doctest::Approx(700));
  CHECK(microseconds(gpu, measured, Precision::fp32, Layout::nhwc) == doctest::Approx(300));
  const auto curve = [](const ConvShape& shape) {
    const Work work = work_of(shape, Dtype::fp32);
    return std::max(work.flops.si() / 4e12, work.bytes.si() / 0.5e12) * 1e6 + 20;
  };
  const double ratio = 300 / curve(pointwise);
  CHECK(microseconds(gpu, wanted, Precision::fp32, Layout::nhwc) ==
        doctest::Approx(curve(twice_as_wide()) * (0.1 + ratio / 8) / (0.1 + 1.0 / 8)).epsilon(1e-12));
}

TEST_CASE("in 16 bits a convolution in nhwc takes the fp32 kernel in nhwc where that is faster") {
  GpuProfile gpu = tiny_with("conv_forward,nhwc,fp32," + wide_shape + ",,30\n");
  gpu.matrix.fp32.conv_nhwc = gpu.matrix.fp32.conv;
  gpu.matrix.fp16->conv_nhwc = gpu.matrix.fp16->conv;
  const Op op = convolution(OpKind::conv_forward, pointwise, Dtype::fp16);
  CHECK(microseconds(gpu, op, Precision::fp16, Layout::nhwc) == doctest::Approx(30));
  const double half = std::max(op.flops.si() / 40e12, op.bytes.si() / 0.5e12) * 1e6 + 20;
  CHECK(half > 30);
  CHECK(microseconds(gpu, op, Precision::fp16, Layout::nchw) == doctest::Approx(half).epsilon(1e-12));
}

TEST_CASE("in 16 bits the fp32 kernel in nchw stands in where nothing is known of fp32 in nhwc") {
  GpuProfile gpu = tiny_with("conv_forward,nchw,fp32," + wide_shape + ",,30\n");
  gpu.matrix.fp16->conv_nhwc = gpu.matrix.fp16->conv;
  const Op op = convolution(OpKind::conv_forward, pointwise, Dtype::fp16);
  CHECK(microseconds(gpu, op, Precision::fp16, Layout::nhwc) == doctest::Approx(30));
}
