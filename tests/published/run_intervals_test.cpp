// The intervals that `validate` prints are those of `run`, whatever other rows are validated.

#include "published/run_intervals.hpp"

#include "config/read_file.hpp"
#include "experiment/prediction_error.hpp"
#include "published/layout_error_table.hpp"
#include "published/published_text.hpp"
#include "published/run_error_table.hpp"
#include "published/validate_layouts.hpp"
#include "published/validate_training.hpp"
#include "sanitized.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

namespace trainyard {
namespace {

const config::Catalogue& interval_catalogue() {
  static const config::Catalogue catalogue{.roots = {TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

std::vector<PublishedRow> rows_shipped_in(const std::string& name) {
  const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/workloads/published/" + name;
  return read_published_rows(path, config::read_file(path, largest_csv));
}

/// The rows on these lines, as a user's file, and all of the shipped file to look up in.
std::shared_ptr<const PublishedData> subset(const std::string& name, const std::set<int>& lines,
                                            const std::string& rules) {
  std::vector<PublishedRow> chosen;
  const std::vector<PublishedRow> all = rows_shipped_in(name);
  for (const PublishedRow& row : all) {
    if (lines.contains(row.line)) chosen.push_back(row);
  }
  for (PublishedRow& row : chosen) row.file = "mine.csv";
  return data_of(chosen, rules_shipped_as(rules).machines, rules_shipped_as(rules).runs, all);
}

TrainingValidation validated(const std::set<int>& lines) {
  return validate_training(interval_catalogue(), subset("dlperf.csv", lines, "published"), 1,
                           {.fits = {FitKind::nothing}});
}

/// What `run` prints for the experiment of a run without software.
ExpectedError printed_by_run(const PublishedRun& run) {
  InputFiles files;
  return *prediction_error(
      inputs_of(interval_catalogue(), run, *run.machine, files, {{"software", "ideal"}}));
}

void check_same(const ExpectedError& a, const ExpectedError& b) {
  CHECK(a.low == b.low);
  CHECK(a.high == b.high);
  CHECK(a.nearest.place == b.nearest.place);
}

TEST_CASE("the interval of a published run is what `run` prints, in every subset of the rows" *
          doctest::skip(testing::is_sanitized)) {
  // one node and four, replicas alone and layers that these divide
  const std::set<int> lines[] = {{7}, {7, 96}, {487, 491, 96, 421}};
  for (const std::set<int>& chosen : lines) {
    const TrainingValidation validation = validated(chosen);
    const auto intervals = run_intervals(validation, FitKind::nothing);
    REQUIRE(validation.runs.size() == chosen.size());
    int inside = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      CAPTURE(validation.runs[i].run.row->line);
      REQUIRE(intervals[i]);
      check_same(intervals[i]->printed, printed_by_run(validation.runs[i].run));
      CHECK(intervals[i]->ratio == doctest::Approx(1 / (1 + validation.runs[i].error(FitKind::nothing)) - 1));
      inside += covers(intervals[i]->printed, intervals[i]->ratio) ? 1 : 0;
    }
    const auto coverage = interval_coverage(validation, FitKind::nothing);
    REQUIRE_FALSE(coverage.empty());
    CHECK(coverage.back().second.runs == static_cast<int>(chosen.size()));
    CHECK(coverage.back().second.covered ==
          doctest::Approx(1.0 * inside / static_cast<double>(chosen.size())));
  }
}

TEST_CASE("an interval is held out from the shipped runs of its own series, and from no others") {
  const TrainingValidation validation = validated({7});
  const auto interval = run_intervals(validation, FitKind::nothing).front();
  const PublishedErrors& shipped = *validation.shipped_errors[FitKind::nothing];
  const auto its = std::ranges::find(shipped.runs, "dlperf.csv:7", &PublishedError::place);
  REQUIRE(its != shipped.runs.end());
  check_same(*interval->held_out, *expected_error(shipped, its->of, its->series));
  CHECK(interval->held_out->low != interval->printed.low);

  PublishedRow row = rows_shipped_in("dlperf.csv").front();
  const auto& rules = rules_shipped_as("published");
  for (const PublishedRow& each : rows_shipped_in("dlperf.csv")) {
    if (each.line == 7) row = each;
  }
  row.framework += " of my own";
  const TrainingValidation own = validate_training(
      interval_catalogue(), data_of({row}, rules.machines, rules.runs, rows_shipped_in("dlperf.csv")), 1,
      {.fits = {FitKind::nothing}});
  const auto unknown = run_intervals(own, FitKind::nothing).front();
  REQUIRE(unknown);
  check_same(*unknown->held_out, unknown->printed);
}

TEST_CASE("rows that are all three times as fast as predicted lie outside") {
  const auto& rules = rules_shipped_as("published");
  std::vector<PublishedRow> rows;
  for (PublishedRow& row : rows_shipped_in("dlperf.csv")) {
    if (row.line < 7 || row.line > 12) continue;
    row.value *= 3;
    rows.push_back(row);
  }
  const TrainingValidation validation = validate_training(
      interval_catalogue(), data_of(rows, rules.machines, rules.runs, rows_shipped_in("dlperf.csv")), 1,
      {.fits = {FitKind::nothing}});
  const auto coverage = interval_coverage(validation, FitKind::nothing);
  REQUIRE_FALSE(coverage.empty());
  CHECK(coverage.back().second.runs > 1);
  CHECK(coverage.back().second.covered == 0);
  CHECK(coverage.back().second.held_out_covered == 0);
}

TEST_CASE("the interval of a published layout is what `run` prints, and is held out from its family" *
          doctest::skip(testing::is_sanitized)) {
  for (const std::set<int>& chosen : {std::set<int>{590}, std::set<int>{2, 590}}) {
    const LayoutValidation validation =
        validate_layouts(interval_catalogue(), subset("parallel.csv", chosen, "layouts"), 1);
    REQUIRE(validation.runs.size() == chosen.size());
    const auto intervals = layout_intervals(validation, LayoutFit::software);
    InputFiles files;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      REQUIRE(intervals[i]);
      check_same(intervals[i]->printed,
                 *prediction_error(inputs_of(interval_catalogue(), validation.runs[i].run, files)));
      REQUIRE(intervals[i]->held_out);
      CHECK(intervals[i]->held_out->low != intervals[i]->printed.low);
    }
    CHECK(layout_coverage(validation, LayoutFit::software).back().second.runs ==
          static_cast<int>(chosen.size()));
  }
}

}  // namespace
}  // namespace trainyard
