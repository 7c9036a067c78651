#include "compute/curves.hpp"

#include "compute/pointwise.hpp"
#include "compute/tiny_gpu.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

ConvShape with_window(int height, int width, int stride, int channels = 64) {
  ConvShape shape = pointwise;
  shape.in_channels = channels;
  shape.kernel_h = height;
  shape.kernel_w = width;
  shape.stride = stride;
  return shape;
}

GpuProfile round_gpu() { return load_gpu_profile(config::parse("tiny.yaml", tiny_gpu)); }

}  // namespace

TEST_CASE("a roofline's time is that of the arithmetic or of the memory, and the fixed time") {
  const Roofline curve{0.5, 0.25, Seconds(3)};
  const auto time = [&](double flops, double bytes) {
    return roofline_time(curve, FlopRate(100), Bandwidth(40), {Flops(flops), Bytes(bytes)});
  };
  CHECK(time(1000, 10) == Seconds(20 + 3));
  CHECK(time(10, 1000) == Seconds(100 + 3));
  CHECK(time(0, 0) == Seconds(3));
}

TEST_CASE("a product's time without the optional figures of its curve is that of the roofline, to the bit") {
  const GemmCurve curve{0.7703, 0.7781, Seconds(2.945e-6)};
  const Roofline same{curve.efficiency, curve.bandwidth_fraction, curve.t0};
  const FlopRate peak(989.5e12);
  const Bandwidth bandwidth(3.35e12);
  for (const int size : {64, 300, 4097, 16384}) {
    const Work work = work_of(GemmShape{1, size, 1000, size, false, true}, Dtype::bf16);
    CHECK(product_time(curve, peak, bandwidth, work, size) == roofline_time(same, peak, bandwidth, work));
    CHECK(product_time(curve, peak, bandwidth, work) == roofline_time(same, peak, bandwidth, work));
  }
}

TEST_CASE("arithmetic and memory of a product overlap in part") {
  GemmCurve curve{0.5, 0.25, Seconds(3)};
  const auto time = [&](double flops, double bytes) {
    return product_time(curve, FlopRate(100), Bandwidth(40), {Flops(flops), Bytes(bytes)}, 8).si();
  };
  curve.overlap = 1;
  CHECK(time(1000, 10) == doctest::Approx(20 + 1 + 3));
  curve.overlap = 2;
  CHECK(time(150, 40) == doctest::Approx(std::hypot(3, 4) + 3));
  CHECK(time(200, 30) == doctest::Approx(std::hypot(4, 3) + 3));
  CHECK(time(0, 0) == 3);
  curve.overlap = 100;
  CHECK(time(1000, 10) == doctest::Approx(20 + 3));
}

TEST_CASE("a product of known shape pays for the start and the length of its sums") {
  GemmCurve curve{0.5, 0.25, Seconds(3)};
  curve.fill = 100;
  curve.t_sum = Seconds(7);
  const auto time = [&](int k) {
    return product_time(curve, FlopRate(100), Bandwidth(40), {Flops(1000), Bytes(10)}, k).si();
  };
  CHECK(time(4096) == doctest::Approx(20 * 4196.0 / 4096 + 3 + 7));
  CHECK(time(1024) == doctest::Approx(20 * 1124.0 / 1024 + 3 + 3.5));
  CHECK(time(0) == doctest::Approx(20 + 3));
}

TEST_CASE("convolutions are classed by channels, window and stride") {
  CHECK(class_of(with_window(7, 7, 2, 3)) == ConvClass::first_layer);
  CHECK(class_of(with_window(1, 1, 1, 1)) == ConvClass::first_layer);
  CHECK(class_of(with_window(1, 1, 1, 4)) == ConvClass::pointwise);
  CHECK(class_of(with_window(1, 1, 2)) == ConvClass::pointwise_strided);
  CHECK(class_of(with_window(3, 3, 1)) == ConvClass::spatial_3x3);
  CHECK(class_of(with_window(3, 3, 2)) == ConvClass::other);
  CHECK(class_of(with_window(1, 3, 1)) == ConvClass::other);
  CHECK(class_of(with_window(3, 1, 1)) == ConvClass::other);
  CHECK(class_of(with_window(5, 5, 1)) == ConvClass::other);
}

TEST_CASE("a convolution's curve has the efficiency of its class and what its fit shares") {
  const ConvFit fit{0.1, 0.2, 0.3, 1.4, 0.5, 0.6, Seconds(7)};
  const auto efficiency = [&](ConvClass conv_class) { return curve_of(fit, conv_class)->efficiency; };
  CHECK(efficiency(ConvClass::first_layer) == 0.1);
  CHECK(efficiency(ConvClass::pointwise) == 0.2);
  CHECK(efficiency(ConvClass::pointwise_strided) == 0.3);
  CHECK(efficiency(ConvClass::spatial_3x3) == 1.4);
  CHECK(efficiency(ConvClass::other) == 0.5);
  CHECK(curve_of(fit, ConvClass::other)->bandwidth_fraction == 0.6);
  CHECK(curve_of(fit, ConvClass::other)->t0 == Seconds(7));
  ConvFit without_first = fit;
  without_first.first_layer.reset();
  CHECK_FALSE(curve_of(without_first, ConvClass::first_layer));
  CHECK(curve_of(without_first, ConvClass::pointwise));
}

TEST_CASE("a GPU has rates only of the data types it has units for") {
  const GpuProfile gpu = round_gpu();
  REQUIRE(find_rates(gpu, Dtype::fp32) != nullptr);
  CHECK(find_rates(gpu, Dtype::fp32)->peak.value == FlopRate(10e12));
  REQUIRE(find_rates(gpu, Dtype::fp16) != nullptr);
  CHECK(find_rates(gpu, Dtype::fp16)->peak.value == FlopRate(100e12));
  CHECK(find_rates(gpu, Dtype::tf32) == nullptr);
  CHECK(find_rates(gpu, Dtype::bf16) == nullptr);
}

TEST_CASE("convolutions in a layout have curves of their own where there are any, else those of the other") {
  MatrixRates rates;
  CHECK(find_conv_fits(rates, Layout::nchw) == nullptr);
  CHECK(find_conv_fits(rates, Layout::nhwc) == nullptr);
  rates.conv.emplace();
  CHECK(find_conv_fits(rates, Layout::nchw) == &*rates.conv);
  CHECK(find_conv_fits(rates, Layout::nhwc) == &*rates.conv);
  rates.conv_nhwc.emplace();
  CHECK(find_conv_fits(rates, Layout::nchw) == &*rates.conv);
  CHECK(find_conv_fits(rates, Layout::nhwc) == &*rates.conv_nhwc);
  rates.conv.reset();
  CHECK(find_conv_fits(rates, Layout::nchw) == &*rates.conv_nhwc);
}

TEST_CASE("each pass of a convolution has its fit and each kind of vector op its fraction") {
  const GpuProfile gpu = round_gpu();
  const ConvPasses& passes = *gpu.matrix.fp32.conv;
  CHECK(&fit_of(passes, OpKind::conv_forward) == &passes.forward);
  CHECK(&fit_of(passes, OpKind::conv_dgrad) == &passes.dgrad);
  CHECK(&fit_of(passes, OpKind::conv_wgrad) == &passes.wgrad);
  const VectorRates& vector = gpu.vector;
  CHECK(&bandwidth_fraction(vector, OpKind::batch_norm_forward) == &vector.batch_norm);
  CHECK(&bandwidth_fraction(vector, OpKind::batch_norm_backward) == &vector.batch_norm);
  CHECK(&bandwidth_fraction(vector, OpKind::layer_norm) == &vector.layer_norm);
  CHECK(&bandwidth_fraction(vector, OpKind::embedding) == &vector.embedding);
  CHECK(&bandwidth_fraction(vector, OpKind::pooling) == &vector.pooling);
  CHECK(&bandwidth_fraction(vector, OpKind::softmax) == &vector.softmax);
  CHECK(&bandwidth_fraction(vector, OpKind::softmax, 1025) == &vector.softmax);  // no data for wide rows
  VectorRates wide = vector;
  wide.softmax_wide = {0.5};
  CHECK(&bandwidth_fraction(wide, OpKind::softmax, 1024) == &wide.softmax);
  CHECK(&bandwidth_fraction(wide, OpKind::softmax, 1025) == &*wide.softmax_wide);
  CHECK(&bandwidth_fraction(vector, OpKind::optimizer) == &vector.optimizer);
  CHECK(&bandwidth_fraction(vector, OpKind::elementwise) == &vector.elementwise);
}
