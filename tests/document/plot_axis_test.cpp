#include "document/plot_axis.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

std::string texts_of(const PlotAxis& axis) {
  std::string all;
  for (const AxisTick& tick : axis.ticks) all += (all.empty() ? "" : ", ") + tick.text;
  return all;
}

}  // namespace

TEST_CASE("an axis of numbers of GPUs has ticks at powers of two") {
  CHECK(texts_of(count_axis({3, 64}, 0, 1)) == "2, 4, 8, 16, 32, 64");
  CHECK(texts_of(count_axis({1, 1 << 14}, 0, 1)) == "1, 4, 16, 64, 256, 1024, 4096, 16384");
}

TEST_CASE("an axis has two to eight ticks and every value lies on it") {
  CHECK(rc::check("axes", [] {
    const double low = std::exp2(*rc::gen::inRange(0, 300) / 10.0);
    const double high = low * std::exp2(*rc::gen::inRange(0, 200) / 10.0);
    const auto text = [](double value) { return fmt::format("{:g}", value); };
    for (const PlotAxis& axis :
         {decades_axis({low, high}, 10, 300, 8, text), linear_axis({low, high}, 10, 300, 8, text)}) {
      RC_ASSERT(axis.ticks.size() >= 2);
      RC_ASSERT(axis.ticks.size() <= 8);
      RC_ASSERT(axis.at(low) >= 10 - 1e-6);
      RC_ASSERT(axis.at(high) <= 310 + 1e-6);
      RC_ASSERT(axis.at(axis.ticks.front().value) == 10);
    }
  }));
}
