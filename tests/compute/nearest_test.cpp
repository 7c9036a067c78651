#include "compute/nearest.hpp"

#include "compute/pointwise.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

constexpr double infinitely_far = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("the rough logarithm is exact at powers of two") {
  for (int power = -60; power <= 60; ++power) {
    CAPTURE(power);
    CHECK(rough_log2(std::ldexp(1.0, power)) == power);
  }
}

TEST_CASE("the rough logarithm is at most 0.087 below the logarithm, never above, and grows") {
  double largest_miss = 0;
  double last = -1;
  for (int i = 0; i <= 4000; ++i) {
    const double x = std::ldexp(1 + (i % 1000) / 1000.0, i / 1000);
    const double miss = std::log2(x) - rough_log2(x);
    CHECK(miss >= -1e-12);
    largest_miss = std::max(largest_miss, miss);
    CHECK(rough_log2(x) > last);
    last = rough_log2(x);
  }
  CHECK(largest_miss < 0.087);
  CHECK(largest_miss > 0.08);
}

TEST_CASE("products are as far apart as their dimensions in powers of two") {
  const GemmShape product{2, 64, 128, 256, false, true};
  const auto other = [&](int batch, int m, int n, int k) {
    return squared_distance(product, GemmShape{batch, m, n, k, false, true});
  };
  CHECK(other(2, 64, 128, 256) == 0);
  CHECK(other(4, 64, 128, 256) == 1);
  CHECK(other(2, 32, 128, 256) == 1);
  CHECK(other(2, 64, 512, 256) == 4);
  CHECK(other(2, 64, 128, 2048) == 9);
  CHECK(other(1, 128, 64, 512) == 4);
  CHECK(squared_distance(product, GemmShape{2, 64, 128, 256, true, false}) == 0);
}

TEST_CASE("convolutions are as far apart as their channels and windows, and half as far as their pixels") {
  const auto distance = [](auto change) {
    ConvShape other = pointwise;
    change(other);
    return squared_distance(pointwise, other);
  };
  CHECK(distance([](ConvShape&) {}) == 0);
  CHECK(distance([](ConvShape& s) { s.in_channels *= 2; }) == 1);
  CHECK(distance([](ConvShape& s) { s.out_channels /= 4; }) == 4);
  CHECK(distance([](ConvShape& s) { s.batch *= 2; }) == 0.25);
  CHECK(distance([](ConvShape& s) { s.batch *= 4; }) == 1);
  CHECK(distance([](ConvShape& s) { s.height = s.width = 28; }) == 1);
  CHECK(distance([](ConvShape& s) { s.groups = 2; }) == 1);
  CHECK(distance([](ConvShape& s) {
          s.batch *= 4;
          s.height = s.width = 28;
        }) == 0);  // as many pixels
}

TEST_CASE("convolutions of different classes say nothing of each other") {
  ConvShape strided = pointwise;
  strided.stride = 2;
  CHECK(squared_distance(pointwise, strided) == infinitely_far);
  ConvShape spatial = pointwise;
  spatial.kernel_h = spatial.kernel_w = 3;
  CHECK(squared_distance(pointwise, spatial) == infinitely_far);
  ConvShape large = spatial;
  large.kernel_h = large.kernel_w = 5;
  CHECK(squared_distance(spatial, large) == infinitely_far);
  ConvShape larger = large;
  larger.kernel_h = 10;  // same class, `other`
  CHECK(squared_distance(large, larger) > 0);
  CHECK(squared_distance(large, larger) < 2);
}

TEST_CASE("vector ops are as far apart as their bytes") {
  CHECK(squared_distance(Bytes(1024), Bytes(1024)) == 0);
  CHECK(squared_distance(Bytes(1024), Bytes(2048)) == 1);
  CHECK(squared_distance(Bytes(8192), Bytes(1024)) == 9);
}

TEST_CASE("without a measured kernel nothing is corrected") { CHECK(Correction().value() == 1); }

TEST_CASE("one kernel counts by its distance, and a tenth of a kernel stands for the curve") {
  for (const double ratio : {0.25, 1.0, 3.0}) {
    Correction same;
    same.add(0, ratio);
    CHECK(same.value() == doctest::Approx((0.1 + ratio) / 1.1).epsilon(1e-14));
    Correction near;
    near.add(1, ratio);
    CHECK(near.value() == doctest::Approx((0.1 + ratio / 8) / (0.1 + 1.0 / 8)).epsilon(1e-14));
    Correction far;
    far.add(10'000, ratio);
    CHECK(far.value() == doctest::Approx(1).epsilon(1e-10));
  }
  Correction infinite;
  infinite.add(infinitely_far, 5);
  CHECK(infinite.value() == 1);
}

TEST_CASE("several kernels are averaged by their nearness") {
  Correction correction;
  correction.add(0, 2);
  correction.add(1, 4);
  correction.add(3, 8);
  CHECK(correction.value() ==
        doctest::Approx((0.1 + 2 + 4.0 / 8 + 8.0 / 64) / (0.1 + 1 + 1.0 / 8 + 1.0 / 64)).epsilon(1e-14));
}

TEST_CASE("a correction lies between the smallest and the largest ratio and 1") {
  CHECK(rc::check([] {
    Correction correction;
    double smallest = 1;
    double largest = 1;
    const int count = *rc::gen::inRange(1, 20);
    for (int i = 0; i < count; ++i) {
      const double ratio = *rc::gen::inRange(1, 1000) / 100.0;
      correction.add(*rc::gen::inRange(0, 100) / 10.0, ratio);
      smallest = std::min(smallest, ratio);
      largest = std::max(largest, ratio);
    }
    RC_ASSERT(correction.value() >= smallest * (1 - 1e-12));
    RC_ASSERT(correction.value() <= largest * (1 + 1e-12));
  }));
}
