#include "accuracy/collective_error.hpp"

#include "config/read_file.hpp"
#include "errors_of.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr double mib = 1024.0 * 1024;

/// Curves of two machines: on `near` all sizes are measured 10 % slower than predicted, on `far` as
/// predicted.
CollectiveErrors two_boxes(int curves) {
  CollectiveErrors errors;
  for (int i = 0; i < 2 * curves; ++i) {
    const bool is_near = i % 2 == 0;
    PublishedCurve& curve = errors.curves.emplace_back();
    curve.of = {.operation = "all_reduce",
                .platform = is_near ? "near" : "far",
                .links = "nvlink",
                .compute_capability = 80,
                .gpus = 8};
    curve.series = i + 1;
    curve.is_fitted = i % 4 == 0;
    curve.place = fmt::format("rows.csv:{}", i + 2);
    curve.source = "a source, with a comma";
    for (const double size : {mib / 4, mib, 16 * mib})
      curve.points.push_back({.size = Bytes{size}, .ratio = is_near ? 0.9 : 1});
  }
  return errors;
}

TEST_CASE(
    "the interval of a collective comes from the curves of its machine, for large sizes and small ones") {
  CollectiveErrors errors = two_boxes(15);
  for (PublishedCurve& curve : errors.curves) curve.points.front().ratio *= 2;  // the size below 1 MiB
  const CurveSubject of = errors.curves[0].of;
  const auto large = collective_error(errors, of, SizeRange::large);
  const auto small = collective_error(errors, of, SizeRange::small);
  REQUIRE(large);
  REQUIRE(small);
  CHECK(large->low < -0.1);
  CHECK(large->high > -0.1);
  CHECK(large->high < 0);
  CHECK(small->low > 0.7);
  CHECK(covers(*large, -0.1));
  CHECK(covers(*large, large->low));
  CHECK_FALSE(covers(*large, large->high + 1e-9));
  CHECK_FALSE(covers(*large, large->low - 1e-9));
  CHECK(large->nearest.of.platform == "near");
  CHECK(large->curves == 15);
  CHECK(large->fitted == 8);
  CHECK_FALSE(collective_error(two_boxes(7), of, SizeRange::large));
}

TEST_CASE(
    "curves of other operations, links and generations are farther than those of other numbers of GPUs") {
  const CurveSubject of = two_boxes(1).curves[0].of;
  const auto changed = [&](auto change) {
    CurveSubject other = of;
    change(other);
    return distance(of, other);
  };
  const double gpus = changed([](CurveSubject& its) { its.gpus = 4; });
  CHECK(changed([](CurveSubject&) {}) == 0);
  CHECK(gpus > 0);
  CHECK(changed([](CurveSubject& its) { its.operation = "all_gather"; }) > gpus);
  CHECK(changed([](CurveSubject& its) { its.compute_capability = 90; }) > gpus);
  CHECK(changed([](CurveSubject& its) { its.compute_capability = 86; }) == 0);
  CHECK(changed([](CurveSubject& its) { its.links = "several_nodes"; }) > gpus);
}

TEST_CASE("errors of curves are read as they were written, and wrong files are refused") {
  CollectiveErrors errors = two_boxes(15);
  fit_widenings(errors);
  const std::string text = collective_errors_text(errors);
  const CollectiveErrors read = read_collective_errors("c.csv", text);
  CHECK(collective_errors_text(read) == text);
  REQUIRE(read.curves.size() == errors.curves.size());
  CHECK(read.curves[3].of == errors.curves[3].of);
  CHECK(read.curves[3].source == "a source, with a comma");
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return errors_of([&] { read_collective_errors("c.csv", changed); }).size();
  };
  CHECK(refused("# widening from", "# widen from") == 1);
  CHECK(refused("curve,series", "series,curve") == 1);
  CHECK(refused(",0.9,", ",-0.9,") == 1);
  CHECK(refused(",0.9,", ",nan,") == 1);
  CHECK(refused("\n1,", "\n1e15,") == 1);  // a count beyond an int
}

TEST_CASE("of the shipped curves, each without its source's on this machine, 80 % of the sizes lie inside") {
  const std::string file = TRAINYARD_SOURCE_DIR "/workloads/published/errors/collectives.csv";
  const CollectiveErrors errors = read_collective_errors(file, config::read_file(file, largest_csv));
  CHECK(errors.curves.size() > 150);
  for (const SizeRange range : size_ranges) {
    double inside = 0;
    int curves = 0;
    for (const PublishedCurve& curve : errors.curves) {
      const auto interval = collective_error(errors, curve.of, range, curve.series);
      REQUIRE(interval);
      int its_inside = 0;
      int points = 0;
      for (const CollectivePoint& point : curve.points) {
        if (range_of(point.size) != range) continue;
        ++points;
        its_inside += point.ratio - 1 >= interval->low && point.ratio - 1 <= interval->high ? 1 : 0;
      }
      if (points == 0) continue;
      ++curves;
      inside += 1.0 * its_inside / points;
    }
    CHECK(inside > 0.78 * curves);
    CHECK(inside < 0.82 * curves);
  }
}

}  // namespace
}  // namespace trainyard
