#include "sweep/published_points.hpp"

#include "../sweep/hand_made.hpp"
#include "config/write.hpp"
#include "errors_of.hpp"
#include "sweep/published_comparison.hpp"
#include "sweep/sweep.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

const std::string varied =
    "experiment: resnet50_dgx2\nvary:\n  precision: [fp32, amp]\n  ranks: [1, 8, 16]\n";

SweepFile published_file(const std::string& lines) {
  return load_sweep(config::parse("s.yaml", varied + lines));
}

/// A file with one published figure.
std::string published_lines(const std::string& at, const std::string& relative = {}) {
  return "published:\n  - figure: step_time_s\n    source: a paper\n" +
         (relative.empty() ? "" : "    relative_to: " + relative + "\n") + "    rows:\n      - {at: " + at +
         ", value: 1.5}\n";
}

/// "LINE:COLUMN KEY: MESSAGE; HINT" of each error.
std::vector<std::string> published_errors(const std::string& lines) {
  std::vector<std::string> texts;
  for (const Diagnostic& error : errors_of([&] { published_file(lines); })) {
    texts.push_back(std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.key_path +
                    ": " + error.message + "; " + error.hint);
  }
  return texts;
}

}  // namespace

TEST_CASE("a published figure is at the point that its pattern meets, in the file's order") {
  const Sweep sweep = make_sweep("s", published_file(published_lines("{precision: amp, ranks: 16}")));
  REQUIRE(sweep.published.size() == 1);
  CHECK(sweep.points[sweep.published[0].point] == PointValues{"amp", "16"});
  CHECK_FALSE(sweep.published[0].reference);
  CHECK(sweep.published[0].value == 1.5);
  CHECK(sweep.published[0].source == "a paper");
  CHECK(sweep.published[0].keys == std::vector<std::string>{"precision", "ranks"});
}

TEST_CASE("the point that a figure is relative to has the figure's own values of all other keys") {
  const Sweep sweep =
      make_sweep("s", published_file(published_lines("{precision: amp, ranks: 16}", "{ranks: 8}")));
  REQUIRE(sweep.published.size() == 1);
  REQUIRE(sweep.published[0].reference);
  CHECK(sweep.points[*sweep.published[0].reference] == PointValues{"amp", "8"});
}

TEST_CASE("published figures at no point or at several are errors at their place, with the missing keys") {
  using Texts = std::vector<std::string>;
  CHECK(published_errors(published_lines("{precision: amp, ranks: 32}")) ==
        Texts{"9:14 published[0].rows[0].at: no point of the sweep matches; "
              "values that the varied keys take together"});
  CHECK(published_errors(published_lines("{ranks: 16}")) ==
        Texts{"9:14 published[0].rows[0].at: 2 points of the sweep match; name also precision"});
  CHECK(published_errors(published_lines("{precision: amp, ranks: 16}", "{ranks: 2}")) ==
        Texts{"8:18 published[0].relative_to: no point of the sweep matches; "
              "values that the varied keys take together"});
  CHECK(published_errors(published_lines("{precision: amp, ranks: 16}", "{ranks: \"< 16\"}")) ==
        Texts{"8:18 published[0].relative_to: 2 points of the sweep match; a single value for each key"});
  CHECK(published_errors(published_lines("{precision: amp, ranks: 8}", "{ranks: 8}")) ==
        Texts{"10:14 published[0].rows[0].at: the point is the one that the value is relative to; "
              "another point"});
}

TEST_CASE("a figure that sweeps do not have, an unknown key and an empty list are errors at their place") {
  const auto places = [](const std::string& lines) {
    std::vector<std::string> found;
    for (const Diagnostic& error : errors_of([&] { published_file(lines); })) found.push_back(error.key_path);
    return found;
  };
  using Places = std::vector<std::string>;
  const std::string head = "published:\n  - {figure: ";
  CHECK(published_errors(head +
                         "step_time, source: x, rows: [{at: {precision: amp, ranks: 8}, value: 1}]}\n") ==
        std::vector<std::string>{"6:14 published[0].figure: 'step_time' is not a figure of sweeps; "
                                 "did you mean 'step_time_s'?"});
  CHECK(places(published_lines("{modle: amp, ranks: 8}")) == Places{"published[0].rows[0].at.modle"});
  CHECK(places(published_lines("{precision: amp, ranks: 8}", "{rank: 8}")) ==
        Places{"published[0].relative_to.rank"});
  CHECK(places(head + "step_time_s, source: x, rows: []}\n") == Places{"published[0].rows"});
  CHECK(places(head + "step_time_s, source: x, rows: [{at: {precision: amp, ranks: 8}, value: 0}]}\n") ==
        Places{"published[0].rows[0].value"});
}

TEST_CASE("--set keeps published figures at the points that are left, and the file stays valid") {
  const SweepFile file = published_file(published_lines("{precision: amp, ranks: 16}", "{ranks: 8}"));
  const auto published_with = [&](const SweepOverrides& overrides) {
    const SweepFile changed = with_overrides(file, overrides);
    // the resolved sweep of an output folder can be run again
    const SweepFile again = load_sweep(config::parse("s.resolved.yaml", config::write(changed)));
    CHECK(make_sweep("s", again).published.size() == make_sweep("s", changed).published.size());
    return make_sweep("s", changed).published;
  };
  CHECK(published_with({{"ranks", {"8", "16"}}}).size() == 1);
  CHECK(published_with({{"precision", {"fp32"}}}).empty());
  CHECK(published_with({{"ranks", {"16"}}}).empty());  // the point it is relative to is missing
  // other settings than those of the published runs
  CHECK(published_with({{"batch_per_gpu", {"64"}}}).empty());
  CHECK(published_with({{"batch_per_gpu", {"32", "64"}}}).empty());
}

TEST_CASE("predictions stand beside published figures, relative ones as ratios") {
  SweepResult result =
      made_result({"nodes"}, {{.values = {"1"}, .ranks = 4, .throughput = 100},
                              {.values = {"2"}, .ranks = 8, .throughput = 160},
                              {.values = {"4"}, .status = PointStatus::wrong, .reason = "x"}});
  result.sweep.published = {
      {.point = 1,
       .reference = {},
       .figure = "throughput_samples_per_s",
       .value = 200,
       .source = "p",
       .keys = {}},
      {.point = 1, .reference = 0, .figure = "step_time_s", .value = 0.5, .source = "p", .keys = {}},
      {.point = 2, .reference = {}, .figure = "step_time_s", .value = 0.5, .source = "p", .keys = {}},
      {.point = 1, .reference = 2, .figure = "step_time_s", .value = 0.5, .source = "p", .keys = {}},
      {.point = 1, .reference = {}, .figure = "of_a_later_version", .value = 1, .source = "p", .keys = {}}};
  const std::vector<PublishedComparison> all = published_comparisons(result);
  REQUIRE(all.size() == 5);
  CHECK(all[0].predicted == 160);
  CHECK(difference(all[0]) == -40);
  CHECK(relative_difference(all[0]).value() == doctest::Approx(-0.2));
  CHECK(all[1].predicted.value() == doctest::Approx(100.0 / 160));
  CHECK(reference_in_words(result, all[1]) == "nodes=1");
  for (const std::size_t unknown : {2U, 3U, 4U}) {
    CHECK_FALSE(all[unknown].predicted);
    CHECK_FALSE(all[unknown].expected);
    CHECK_FALSE(difference(all[unknown]));
    CHECK_FALSE(relative_difference(all[unknown]));
  }
  CHECK_FALSE(all[0].expected);
  CHECK_FALSE(all[1].expected);
  result.rows.erase(result.rows.begin());  // an interrupted sweep: the reference has not run
  CHECK(published_comparisons(result).size() == 4);
}

TEST_CASE("a prediction beside a published figure has the expected error of that figure") {
  SweepResult result = made_result({"nodes"}, {{.values = {"1"}, .ranks = 4, .throughput = 100},
                                               {.values = {"2"}, .ranks = 8, .throughput = 160}});
  for (const char* const figure : {"throughput_low_samples_per_s", "throughput_high_samples_per_s"})
    result.figures.emplace_back(figure);
  result.rows[0].figures.insert(result.rows[0].figures.end(), {80.0, 160.0});
  result.rows[1].figures.insert(result.rows[1].figures.end(), {128.0, 256.0});
  result.efficiency_errors = {ErrorBounds{}, ErrorBounds{-0.1, 0.05}};
  const auto at_1 = [](const char* figure, std::optional<std::size_t> reference) {
    return PublishedPoint{
        .point = 1, .reference = reference, .figure = figure, .value = 1, .source = "p", .keys = {}};
  };
  result.sweep.published = {at_1("throughput_samples_per_s", {}), at_1("step_time_s", {}),
                            at_1("scaling_efficiency", {}), at_1("step_time_s", 0)};
  result.relative_errors = {{}, {}, {}, ErrorBounds{-0.5, 0.25}};
  const std::vector<PublishedComparison> all = published_comparisons(result);
  const auto check = [](const PublishedComparison& one, double low, double high) {
    CAPTURE(one.figure);
    REQUIRE(one.expected);
    CHECK(one.expected->low == doctest::Approx(low));
    CHECK(one.expected->high == doctest::Approx(high));
  };
  check(all[0], -0.2, 0.6);
  CHECK_FALSE(is_as_expected(all[0]));  // 1 for 160
  check(all[1], 1 / 1.6 - 1, 1 / 0.8 - 1);
  check(all[2], -0.1, 0.05);
  CHECK(is_as_expected(all[2]));
  check(all[3], 1 / 1.25 - 1, 1 / 0.5 - 1);
}
