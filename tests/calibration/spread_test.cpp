#include "calibration/spread.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

using namespace trainyard;

namespace {

GemmKernel product(int m, int n, int k, bool transpose_b = true, Dtype dtype = Dtype::bf16) {
  return {dtype, {1, m, n, k, false, transpose_b}, Seconds(1e-5)};
}

/// 512 products of all powers of two from 64 to 8192.
std::vector<GemmKernel> cube() {
  std::vector<GemmKernel> products;
  for (int m = 64; m <= 8192; m *= 2) {
    for (int n = 64; n <= 8192; n *= 2) {
      for (int k = 64; k <= 8192; k *= 2) products.push_back(product(m, n, k));
    }
  }
  return products;
}

bool has(const std::vector<GemmKernel>& products, const GemmShape& shape) {
  return std::ranges::find(products, shape, &GemmKernel::shape) != products.end();
}

/// The largest number of powers of two, over the sizes, from any of `all` to its nearest of `kept`.
int widest_gap(const std::vector<GemmKernel>& all, const std::vector<GemmKernel>& kept) {
  const auto power = [](int size) { return size < 2 ? 0 : 31 - __builtin_clz(static_cast<unsigned>(size)); };
  int widest = 0;
  for (const GemmKernel& one : all) {
    int nearest = std::numeric_limits<int>::max();
    for (const GemmKernel& other : kept) {
      const auto step = [&](int a, int b) { return std::abs(power(a) - power(b)); };
      nearest =
          std::min(nearest, std::max({step(one.shape.m, other.shape.m), step(one.shape.n, other.shape.n),
                                      step(one.shape.k, other.shape.k)}));
    }
    widest = std::max(widest, nearest);
  }
  return widest;
}

}  // namespace

TEST_CASE("products that are few enough all stay") {
  const std::vector<GemmKernel> all = cube();
  CHECK(spread(all, all.size()).size() == all.size());
  CHECK(spread(all, 10'000).size() == all.size());
  CHECK(spread({}, 5).empty());
}

TEST_CASE("two of a cube of sizes are opposite corners, 64 leave no gap of more than two powers of two") {
  const std::vector<GemmKernel> all = cube();
  const std::vector<GemmKernel> two = spread(all, 2);
  REQUIRE(two.size() == 2);
  CHECK(has(two, {1, 64, 64, 64, false, true}));
  CHECK(has(two, {1, 8192, 8192, 8192, false, true}));
  const std::vector<GemmKernel> more = spread(all, 64);
  REQUIRE(more.size() == 64);
  CHECK(widest_gap(all, more) <= 2);
  CHECK(std::ranges::is_sorted(more, {}, &GemmKernel::shape));
}

TEST_CASE("each data type and each way of storing keeps products of its own") {
  std::vector<GemmKernel> all;
  for (int m = 1; m <= 100; ++m) all.push_back(product(m, 64, 64));
  for (int m = 1; m <= 100; ++m) all.push_back(product(m, 64, 64, false));
  for (int m = 1; m <= 3; ++m) all.push_back(product(m, 64, 64, true, Dtype::fp8));
  const std::vector<GemmKernel> kept = spread(all, 10);
  const auto count = [&](Dtype dtype, bool transpose_b) {
    return std::ranges::count_if(kept, [&](const GemmKernel& kernel) {
      return kernel.dtype == dtype && kernel.shape.transpose_b == transpose_b;
    });
  };
  CHECK(count(Dtype::fp8, true) == 3);
  CHECK(count(Dtype::bf16, true) == 5);
  CHECK(count(Dtype::bf16, false) == 5);
}
