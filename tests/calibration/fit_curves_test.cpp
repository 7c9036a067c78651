#include "calibration/fit_curves.hpp"

#include "calibration/synthetic.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

constexpr Limits synthetic_limits{synthetic_peak, synthetic_bandwidth};

std::vector<Sample> samples_of(const Recording& recording, Dtype dtype) {
  std::vector<Sample> samples;
  for (const RecordedKernel& row : recording.rows) {
    if (const auto* gemm = std::get_if<GemmShape>(&row.shape)) {
      samples.push_back({work_of(*gemm, dtype), row.time});
    } else {
      samples.push_back({{Flops(), row.bytes}, row.time});
    }
  }
  return samples;
}

/// The convolutions of a recording with one of `classes`.
std::vector<ConvSample> conv_samples(const Recording& recording, const std::vector<ConvClass>& classes) {
  std::vector<ConvSample> samples;
  for (const RecordedKernel& row : recording.rows) {
    const auto& shape = std::get<ConvShape>(row.shape);
    for (const ConvClass wanted : classes) {
      if (class_of(shape) == wanted) samples.push_back({{work_of(shape, *row.dtype), row.time}, wanted});
    }
  }
  return samples;
}

const std::vector<ConvClass> every_class{ConvClass::first_layer, ConvClass::pointwise,
                                         ConvClass::pointwise_strided, ConvClass::spatial_3x3,
                                         ConvClass::other};

constexpr ConvFit uneven_fit{0.2, 0.7, 0.45, 1.7, 0.55, 0.65, Seconds(15e-6)};

doctest::Approx within_1_percent(double value) { return doctest::Approx(value).epsilon(0.01); }

std::vector<DispatchedSample> dispatched(double fraction, double t0, const std::string& call, double floor,
                                         int count) {
  std::vector<DispatchedSample> samples;
  Bytes bytes(65536);
  for (int i = 0; i < count; ++i) {
    const Seconds kernel = bytes / (fraction * synthetic_bandwidth) + Seconds(t0);
    samples.push_back({{{Flops(), bytes}, std::max(kernel, Seconds(floor))}, call});
    bytes = 1.5 * bytes;
  }
  return samples;
}

}  // namespace

TEST_CASE("a roofline that made the times is found again within 1 %") {
  for (const Roofline& truth : {Roofline{0.62, 0.55, Seconds(8e-6)}, Roofline{0.9, 0.8, Seconds(3e-6)},
                                Roofline{0.3, 0.9, Seconds(25e-6)}}) {
    CAPTURE(truth.efficiency);
    const auto samples = samples_of(gemm_recording(Dtype::fp32, truth), Dtype::fp32);
    const Roofline fit = fit_roofline(samples, synthetic_limits);
    CHECK(fit.efficiency == within_1_percent(truth.efficiency));
    CHECK(fit.bandwidth_fraction == within_1_percent(truth.bandwidth_fraction));
    CHECK(fit.t0.si() == within_1_percent(truth.t0.si()));
  }
}

TEST_CASE("a fit never passes the peaks of the GPU") {
  const Roofline faster_than_possible{2, 3, Seconds(1e-6)};
  const auto samples = samples_of(gemm_recording(Dtype::fp32, faster_than_possible), Dtype::fp32);
  const Roofline fit = fit_roofline(samples, synthetic_limits);
  CHECK(fit.efficiency <= 1);
  CHECK(fit.efficiency > 0.95);
  CHECK(fit.bandwidth_fraction <= 1);
  CHECK(fit.t0 >= Seconds());
}

TEST_CASE("half and twice the time are equally wrong") {
  std::vector<Sample> samples;
  for (const Sample& sample :
       samples_of(vector_recording(OpKind::elementwise, 0.4, Seconds(), 20), Dtype::fp32)) {
    samples.push_back({sample.work, 0.5 * sample.time});
    samples.push_back({sample.work, 2 * sample.time});
  }
  CHECK(fit_vector(samples, synthetic_bandwidth).bandwidth_fraction == doctest::Approx(0.4).epsilon(0.02));
}

TEST_CASE("figures of a fit have four digits") {
  const auto samples =
      samples_of(gemm_recording(Dtype::fp32, {0.6234567, 0.5432109, Seconds(8.1234e-6)}), Dtype::fp32);
  const Roofline fit = fit_roofline(samples, synthetic_limits);
  CHECK(fit.efficiency * 1e4 == doctest::Approx(std::round(fit.efficiency * 1e4)).epsilon(1e-12));
  CHECK(fit.t0.si() * 1e9 == doctest::Approx(std::round(fit.t0.si() * 1e9)).epsilon(1e-12));
}

TEST_CASE("the efficiencies of all classes of convolutions are found again within 1 %") {
  const auto samples =
      conv_samples(conv_recording(OpKind::conv_forward, Dtype::fp32, uneven_fit), every_class);
  REQUIRE(samples.size() == 60);
  const ConvFit fit = fit_conv(samples, synthetic_limits);
  REQUIRE(fit.first_layer);
  CHECK(*fit.first_layer == within_1_percent(0.2));
  CHECK(fit.pointwise == within_1_percent(0.7));
  CHECK(fit.pointwise_strided == within_1_percent(0.45));
  CHECK(fit.spatial_3x3 == within_1_percent(1.7));
  CHECK(fit.other == within_1_percent(0.55));
  CHECK(fit.bandwidth_fraction == within_1_percent(0.65));
  CHECK(fit.t0.si() == doctest::Approx(15e-6).epsilon(0.02));
}

TEST_CASE("a class with too few kernels has the efficiency of other windows, the first layer none") {
  const Recording recording = conv_recording(OpKind::conv_forward, Dtype::fp32, uneven_fit);
  auto samples = conv_samples(recording, {ConvClass::pointwise, ConvClass::spatial_3x3, ConvClass::other});
  const auto first = conv_samples(recording, {ConvClass::first_layer});
  samples.insert(samples.end(), first.begin(), first.begin() + 2);
  const ConvFit fit = fit_conv(samples, synthetic_limits);
  CHECK_FALSE(fit.first_layer);
  CHECK(fit.pointwise == within_1_percent(0.7));
  CHECK(fit.spatial_3x3 == within_1_percent(1.7));
  CHECK(fit.pointwise_strided == fit.other);
}

TEST_CASE("without kernels of other windows a class with none has the efficiency of all classes") {
  for (const double efficiency : {0.25, 0.9}) {
    ConvFit truth = uneven_fit;
    truth.pointwise = efficiency;
    const auto samples =
        conv_samples(conv_recording(OpKind::conv_forward, Dtype::fp32, truth), {ConvClass::pointwise});
    REQUIRE(samples.size() == 12);
    const ConvFit fit = fit_conv(samples, synthetic_limits);
    CHECK(fit.pointwise == within_1_percent(efficiency));
    CHECK(fit.other == within_1_percent(efficiency));
    CHECK(fit.spatial_3x3 == fit.other);
    CHECK(fit.pointwise_strided == fit.other);
    CHECK_FALSE(fit.first_layer);
  }
}

TEST_CASE("only windows that Winograd shortens may pass the peak, and no convolution the best streams") {
  const ConvFit faster_than_possible{3, 3, 3, 3, 3, 3, Seconds(10e-6)};
  const ConvFit fit = fit_conv(
      conv_samples(conv_recording(OpKind::conv_forward, Dtype::fp16, faster_than_possible), every_class),
      synthetic_limits);
  CHECK(*fit.first_layer <= 1);
  CHECK(fit.pointwise <= 1);
  CHECK(fit.pointwise_strided <= 1);
  CHECK(fit.spatial_3x3 > 1);
  CHECK(fit.spatial_3x3 <= 4);
  CHECK(fit.other <= 4);
  CHECK(fit.bandwidth_fraction <= 0.93);
}

TEST_CASE("the bandwidth and the fixed time of vector ops are found again within 1 %") {
  for (const double fraction : {0.4, 0.9}) {
    const VectorFit fit =
        fit_vector(samples_of(vector_recording(OpKind::softmax, fraction, Seconds(4e-6)), Dtype::fp32),
                   synthetic_bandwidth);
    CHECK(fit.bandwidth_fraction == within_1_percent(fraction));
    CHECK(fit.t0.si() == within_1_percent(4e-6));
  }
}

TEST_CASE("behind a framework's dispatch the bandwidth is found, and the dispatch of each call") {
  auto samples = dispatched(0.6, 5e-6, "relu", 25e-6, 24);
  const auto more = dispatched(0.6, 5e-6, "add", 60e-6, 24);
  samples.insert(samples.end(), more.begin(), more.end());
  const DispatchFit fit = fit_dispatched(samples, synthetic_bandwidth);
  CHECK(fit.vector.bandwidth_fraction == within_1_percent(0.6));
  REQUIRE(fit.dispatch.size() == 2);
  CHECK(fit.dispatch.at("relu").si() == within_1_percent(25e-6));
  CHECK(fit.dispatch.at("add").si() == within_1_percent(60e-6));
}

TEST_CASE("a call takes its dispatch or its kernel's time, whichever is longer") {
  const DispatchFit fit{{0.5, Seconds(2e-6)}, {{"relu", Seconds(30e-6)}}};
  const auto time = [&](const std::string& call, double bytes) {
    return dispatched_time(fit, call, Bytes(bytes), synthetic_bandwidth).si();
  };
  CHECK(time("relu", 1e6) == doctest::Approx(30e-6).epsilon(1e-12));
  CHECK(time("relu", 1e9) == doctest::Approx(2002e-6).epsilon(1e-12));
  CHECK(time("gelu", 1e6) == doctest::Approx(4e-6).epsilon(1e-12));  // its dispatch was not measured
}

TEST_CASE("the six numbers of a curve come back from products that follow it") {
  const GemmCurve known{0.8, 0.7, Seconds(3e-6), 2.5, 150, Seconds(2e-6)};
  std::vector<ProductSample> samples;
  for (const RecordedKernel& row : many_products(Dtype::fp32, known).rows) {
    const auto& shape = std::get<GemmShape>(row.shape);
    samples.push_back({{work_of(shape, Dtype::fp32), row.time}, shape.k});
  }
  const GemmCurve curve = fit_product(samples, synthetic_limits);
  CHECK(curve.efficiency == within_1_percent(0.8));
  CHECK(curve.bandwidth_fraction == within_1_percent(0.7));
  CHECK(curve.t0.si() == within_1_percent(3e-6));
  CHECK(curve.overlap.value() == within_1_percent(2.5));
  CHECK(curve.fill.value() == within_1_percent(150));
  CHECK(curve.t_sum.value().si() == within_1_percent(2e-6));

  // a few products for which the library chose badly change little
  for (std::size_t i = 0; i < samples.size(); i += 50) samples[i].sample.time = 3 * samples[i].sample.time;
  const GemmCurve with_outliers = fit_product(samples, synthetic_limits);
  CHECK(with_outliers.efficiency == doctest::Approx(0.8).epsilon(0.03));
  CHECK(with_outliers.fill.value() == doctest::Approx(150).epsilon(0.1));
}

TEST_CASE("efficiency and bandwidth of many products stay at most 1") {
  const GemmCurve too_fast{1.4, 1.3, Seconds(3e-6), 2, 0, Seconds()};
  std::vector<ProductSample> samples;
  for (const RecordedKernel& row : many_products(Dtype::fp32, too_fast).rows) {
    const auto& shape = std::get<GemmShape>(row.shape);
    samples.push_back({{work_of(shape, Dtype::fp32), row.time}, shape.k});
  }
  const GemmCurve curve = fit_product(samples, synthetic_limits);
  CHECK(curve.efficiency == 1);
  CHECK(curve.bandwidth_fraction <= 1);
  CHECK(curve.overlap.value() >= 1);
  CHECK(curve.t_sum.value() >= Seconds());
}

TEST_CASE("the cast of a linear layer's input is told apart from its product") {
  const GemmCurve in_16_bits{0.7, 0.8, Seconds(2e-6), 2.5, 100, Seconds(2.5e-6)};
  const GemmCurve known{0.6, 0.7, Seconds(2e-6), 2, 300, Seconds(2.5e-6)};
  const CastFit cast{Seconds(3e-6), Bandwidth(0.5e12), Seconds(5e-9), Seconds(0.5e-9)};
  std::vector<CastingSample> samples;
  for (const RecordedKernel& row : many_products(Dtype::fp8, known).rows) {
    const auto& shape = std::get<GemmShape>(row.shape);
    samples.push_back({shape, row.time + cast_time(cast, shape)});
  }
  const CastingFit fit = fit_casting(samples, synthetic_limits, in_16_bits);
  CHECK(fit.product.efficiency == doctest::Approx(0.6).epsilon(0.02));
  CHECK(fit.product.bandwidth_fraction == doctest::Approx(0.7).epsilon(0.02));
  CHECK(fit.product.t0 == in_16_bits.t0);
  CHECK(fit.product.t_sum == in_16_bits.t_sum);
  CHECK(fit.cast.fixed.si() == doctest::Approx(3e-6).epsilon(0.05));
  CHECK(fit.cast.rate.si() == doctest::Approx(0.5e12).epsilon(0.05));
  CHECK(fit.cast.per_row.si() == doctest::Approx(5e-9).epsilon(0.05));
}

TEST_CASE("the four numbers of attention come back from passes that follow them") {
  std::vector<AttentionSample> samples;
  for (const int n : {1024, 1536, 2048, 4096, 8192, 16384}) {
    for (const int batch : {4, 16, 48, 96, 256}) {
      const Work work{Flops(2.0 * batch * n * n * 128), Bytes(8.0 * batch * n * 128)};
      const Roofline curve{0.6, 1, Seconds(10e-6)};
      const Work more{(1 + 700.0 / n) * work.flops, work.bytes};
      const Seconds time =
          roofline_time(curve, synthetic_peak, synthetic_bandwidth, more) + n * Seconds(6e-9);
      samples.push_back({{work, time}, n});
    }
  }
  const AttentionFit fit = fit_attention(samples, synthetic_limits);
  CHECK(fit.efficiency == within_1_percent(0.6));
  CHECK(fit.tokens == within_1_percent(700));
  CHECK(fit.t0.si() == doctest::Approx(10e-6).epsilon(0.1));
  CHECK(fit.key_time.si() == doctest::Approx(6e-9).epsilon(0.1));
}
