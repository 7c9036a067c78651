#include "workload/fixed_epochs.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"
#include "shipped_model.hpp"
#include "workload/model_file.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

FixedEpochs goyal() {
  const std::vector<FixedEpochs> tables = testing::shipped_model("resnet50").fixed_epochs;
  const FixedEpochs* const table = fixed_epochs_for(tables, 90, "momentum");
  REQUIRE(table);
  return *table;
}

void load_table(const std::string& points) {
  const std::string model = "name: m\nfamily: resnet\nresnet: {blocks: [3, 4, 6, 3]}\nfixed_epochs:\n";
  const std::string table = "  - {epochs: 90, metric: top-1, optimizer: momentum, source: s, points: ";
  load_model(config::parse("m.yaml", model + table + points + "}\n"));
}

}  // namespace

TEST_CASE("a published batch reaches the published accuracy") {
  // Goyal et al. 2017: errors of 23.60 and 23.74 % at batches of 256 and 8,192
  const AccuracyAtEnd its = accuracy_at_end(goyal(), 8192).value();
  CHECK(its.accuracy == doctest::Approx(0.7626).epsilon(1e-12));
  CHECK(its.range == BatchRange::measured);
  CHECK(its.published == 8192);
  CHECK(its.low > 0.7610);
  CHECK(its.high < 0.7642);
  CHECK(accuracy_at_end(goyal(), 256)->accuracy == doctest::Approx(0.7640).epsilon(1e-12));
}

TEST_CASE("between batches the accuracy is interpolated in the logarithm of the batch") {
  const double at_16k = accuracy_at_end(goyal(), 16384)->accuracy;
  const double at_32k = accuracy_at_end(goyal(), 32768)->accuracy;
  const AccuracyAtEnd between = accuracy_at_end(goyal(), 23170.475).value();  // sqrt(2) x 16,384
  CHECK(between.accuracy == doctest::Approx((at_16k + at_32k) / 2).epsilon(1e-6));
  CHECK_FALSE(between.published);
  CHECK(between.high - between.low >
        accuracy_at_end(goyal(), 16384)->high - accuracy_at_end(goyal(), 16384)->low);
}

TEST_CASE("outside the published batches an accuracy is marked, far beyond them there is none") {
  const AccuracyAtEnd small = accuracy_at_end(goyal(), 32).value();
  CHECK(small.range == BatchRange::below);
  CHECK(small.accuracy == accuracy_at_end(goyal(), 128)->accuracy);
  const AccuracyAtEnd large = accuracy_at_end(goyal(), 131072).value();
  CHECK(large.range == BatchRange::beyond);
  CHECK(large.accuracy == doctest::Approx(0.6604 - (0.7245 - 0.6604)).epsilon(1e-9));
  CHECK(large.low < large.accuracy - 0.02);
  CHECK_FALSE(accuracy_at_end(goyal(), 131073));
  // two points show no curvature
  const FixedEpochs two = testing::shipped_model("resnet101").fixed_epochs.front();
  CHECK(accuracy_at_end(two, 8192));
  CHECK_FALSE(accuracy_at_end(two, 8193));
}

TEST_CASE("between two points, and without deviations, the interval is as wide as what is unknown") {
  const FixedEpochs two{
      .epochs = 90,
      .points = {{.batch = 256, .accuracy = 0.764, .runs = 1}, {.batch = 8192, .accuracy = 0.70, .runs = 1}}};
  const AccuracyAtEnd between = accuracy_at_end(two, 2048).value();
  CHECK(between.high - between.accuracy == doctest::Approx(0.064));
  FixedEpochs three = two;
  three.points.push_back({.batch = 16384, .accuracy = 0.69, .runs = 1});
  three.points.front().deviation = 0.01;  // holds for the points that state none
  const AccuracyAtEnd at_point = accuracy_at_end(three, 8192).value();
  CHECK(at_point.high - at_point.accuracy == doctest::Approx(1.2815516 * 0.01 * std::sqrt(2)).epsilon(1e-6));
}

TEST_CASE("single runs of unknown scatter are no certain accuracy") {
  const FixedEpochs table{.epochs = 90,
                          .metric = "top-1",
                          .recipe = {},
                          .optimizer = "lars",
                          .points = {{.batch = 8192, .accuracy = 0.738},
                                     {.batch = 16384, .accuracy = 0.734},
                                     {.batch = 32768, .accuracy = 0.722}},
                          .source = {}};
  const AccuracyAtEnd its = accuracy_at_end(table, 8192).value();
  CHECK(its.accuracy == 0.738);
  // the line from the first to the last point is 0.004 below the one between them; t of one degree of freedom
  CHECK(its.high - its.accuracy == doctest::Approx(3.0777 * 0.004).epsilon(1e-4));
}

TEST_CASE("a table is chosen by its epochs and its optimizer") {
  const std::vector<FixedEpochs> tables{goyal()};
  CHECK(fixed_epochs_for(tables, 90, "momentum") == &tables.front());
  CHECK(fixed_epochs_for(tables, 91, "momentum") == nullptr);
  CHECK(fixed_epochs_for(tables, 90, "adam") == nullptr);
}

TEST_CASE("a table with wrong points is an error at its place") {
  load_table("[{batch: 8, accuracy: 0.5}]");
  check_errors({{"[]", "fixed_epochs[0].points"},
                {"[{batch: 8, accuracy: 0.5}, {batch: 8, accuracy: 0.4}]", "fixed_epochs[0].points[1].batch"},
                {"[{batch: 8, accuracy: 76.4}]", "fixed_epochs[0].points[0].accuracy"}},
               load_table);
}
