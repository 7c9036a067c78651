#include "report/validation_plot.hpp"

#include "document/plot_axis.hpp"
#include "report/validation_sample.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

std::string texts_of(const PlotAxis& axis) {
  std::string all;
  for (const AxisTick& tick : axis.ticks) all += (all.empty() ? "" : ", ") + tick.text;
  return all;
}

}  // namespace

TEST_CASE("a picture draws every curve and escapes what it writes") {
  const SampleValidation sample;
  const std::string svg = validation_plot(sample.validation);
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of(svg, "8 V100, all_reduce") == 1);
  CHECK(count_of(svg, "one &amp; only") == 1);
  CHECK(count_of(svg, "<circle cx") == 6 + 1);  // and the legend's
  CHECK(count_of(svg, "<polyline") == 2);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("a picture says what dots and lines are, what the axes show and which curves it leaves out") {
  SampleValidation sample;
  sample.validation.curves[1].points.pop_back();
  sample.validation.curves[0].family = CurveFamily::pcie;
  const std::string svg = validation_plot(sample.validation);
  for (const std::string text : {"measured, as published", "predicted", ">size<", ">bus bandwidth<",
                                 "PCIe, one node", "fitted: 10.0 %", "Not drawn: 1 curve "}) {
    CAPTURE(text);
    CHECK(svg.find(text) != std::string::npos);
  }
  CHECK(svg.find("NVLink, one node") == std::string::npos);
}

TEST_CASE("axes have round ticks with their unit") {
  CHECK(texts_of(size_axis({1024, 65536}, 0, 1)) == "1 KiB, 2 KiB, 4 KiB, 8 KiB, 16 KiB, 32 KiB, 64 KiB");
  CHECK(texts_of(size_axis({8, 8589934592}, 0, 1)) == "1 B, 64 B, 4 KiB, 256 KiB, 16 MiB, 1 GiB, 64 GiB");
  CHECK(texts_of(bandwidth_axis({12.1e9, 12.4e9}, 0, 1)) == "10 GB/s, 20 GB/s");
  CHECK(texts_of(bandwidth_axis({15e9, 130e9}, 0, 1)) == "10 GB/s, 20 GB/s, 50 GB/s, 100 GB/s, 200 GB/s");
  CHECK(texts_of(bandwidth_axis({2e6, 130e9}, 0, 1)) ==
        "1 MB/s, 10 MB/s, 100 MB/s, 1 GB/s, 10 GB/s, 100 GB/s, 1 TB/s");
  CHECK(texts_of(bandwidth_axis({1e9, 1e9}, 0, 1)) == "1 GB/s, 2 GB/s");
  CHECK(texts_of(count_axis({3, 64}, 0, 1)) == "2, 4, 8, 16, 32, 64");
  CHECK(texts_of(count_axis({1, 1 << 14}, 0, 1)) == "1, 4, 16, 64, 256, 1024, 4096, 16384");
  CHECK(texts_of(ratio_axis(0, 1)) == "0.6, 0.8, 1, 1.25, 1.6, 2");
}

TEST_CASE("an axis has two to eight ticks and every value lies on it") {
  CHECK(rc::check("axes", [] {
    const double low = std::exp2(*rc::gen::inRange(0, 300) / 10.0);
    const double high = low * std::exp2(*rc::gen::inRange(0, 200) / 10.0);
    for (const PlotAxis& axis : {size_axis({low, high}, 10, 300), bandwidth_axis({low, high}, 10, 300)}) {
      RC_ASSERT(axis.ticks.size() >= 2);
      RC_ASSERT(axis.ticks.size() <= 8);
      RC_ASSERT(axis.at(low) >= 10 - 1e-6);
      RC_ASSERT(axis.at(high) <= 310 + 1e-6);
      RC_ASSERT(axis.at(axis.ticks.front().value) == 10);
    }
  }));
}
