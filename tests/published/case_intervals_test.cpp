// The intervals that `validate` prints are those of `run`, whatever other rows are validated.

#include "published/case_intervals.hpp"

#include "accuracy/expected_error.hpp"
#include "config/read_file.hpp"
#include "experiment/prediction_error.hpp"
#include "published/published_text.hpp"
#include "sanitized.hpp"
#include "shipped_catalogue.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <set>

namespace trainyard {
namespace {

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

Validation validated(RowKind kind, std::shared_ptr<const PublishedData> data, Fit fit,
                     GroupLeftOut left_out = GroupLeftOut::series) {
  return validate_rows(testing::shipped_catalogue(), kind, std::move(data), 1,
                       {.fits = {fit}, .left_out = left_out});
}

Validation validated_runs(const std::set<int>& lines) {
  return validated(RowKind::training, subset("dlperf.csv", lines, "published"), Fit::nothing);
}

/// What `run` prints for the experiment of a run without software.
ExpectedError printed_by_run(const Case& run) {
  InputFiles files;
  return *prediction_error(
      inputs_of(testing::shipped_catalogue(), run, run.machine, files, {{"software", "ideal"}}));
}

void check_same(const CaseInterval& interval, const ExpectedError& printed) {
  CHECK(interval.low == printed.low);
  CHECK(interval.high == printed.high);
}

void check_held_out(const CaseInterval& interval, const ExpectedError& expected) {
  REQUIRE(interval.held_out);
  CHECK(interval.held_out->first == expected.low);
  CHECK(interval.held_out->second == expected.high);
}

TEST_CASE("the interval of a published run is what `run` prints, in every subset of the rows" *
          doctest::skip(testing::is_sanitized)) {
  // one node and four, replicas alone and layers that these divide
  const std::set<int> lines[] = {{7}, {7, 96}, {487, 491, 96, 421}};
  for (const std::set<int>& chosen : lines) {
    const Validation validation = validated_runs(chosen);
    const auto intervals = case_intervals(validation, Fit::nothing);
    REQUIRE(validation.cases.size() == chosen.size());
    int inside = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      CAPTURE(validation.cases[i].of.row->line);
      REQUIRE(intervals[i]);
      check_same(*intervals[i], printed_by_run(validation.cases[i].of));
      CHECK(intervals[i]->ratio == doctest::Approx(1 / (1 + validation.cases[i].error(Fit::nothing)) - 1));
      inside += is_inside(*intervals[i]) ? 1 : 0;
    }
    const auto coverage = interval_coverage(validation, Fit::nothing);
    REQUIRE(coverage.all);
    CHECK(coverage.all->rows == static_cast<int>(chosen.size()));
    CHECK(coverage.all->covered == doctest::Approx(1.0 * inside / static_cast<double>(chosen.size())));
  }
}

TEST_CASE("an interval is held out from the shipped runs of its own series, and from no others") {
  const Validation validation = validated_runs({7});
  const auto interval = case_intervals(validation, Fit::nothing).front();
  REQUIRE(interval);
  const PublishedErrors& shipped = *validation.shipped_errors[Fit::nothing];
  const auto its = std::ranges::find(shipped.runs, "dlperf.csv:7", &PublishedError::place);
  REQUIRE(its != shipped.runs.end());
  check_held_out(*interval, *expected_error(shipped, its->of, its->series));
  CHECK(interval->held_out->first != interval->low);

  PublishedRow row = rows_shipped_in("dlperf.csv").front();
  const auto& rules = rules_shipped_as("published");
  for (const PublishedRow& each : rows_shipped_in("dlperf.csv")) {
    if (each.line == 7) row = each;
  }
  row.framework += " of my own";
  const Validation own =
      validated(RowKind::training, data_of({row}, rules.machines, rules.runs, rows_shipped_in("dlperf.csv")),
                Fit::nothing);
  const auto unknown = case_intervals(own, Fit::nothing).front();
  REQUIRE(unknown);
  REQUIRE(unknown->held_out);
  CHECK(*unknown->held_out == std::pair(unknown->low, unknown->high));
}

TEST_CASE("rows that are all three times as fast as predicted lie outside") {
  const auto& rules = rules_shipped_as("published");
  std::vector<PublishedRow> rows;
  for (PublishedRow& row : rows_shipped_in("dlperf.csv")) {
    if (row.line < 7 || row.line > 12) continue;
    row.value *= 3;
    rows.push_back(row);
  }
  const Validation validation =
      validated(RowKind::training, data_of(rows, rules.machines, rules.runs, rows_shipped_in("dlperf.csv")),
                Fit::nothing);
  const auto coverage = interval_coverage(validation, Fit::nothing);
  REQUIRE(coverage.all);
  CHECK(coverage.all->rows > 1);
  CHECK(coverage.all->covered == 0);
  CHECK(coverage.all->held_out_rows == coverage.all->rows);
  CHECK(coverage.all->held_out_covered == 0);
}

TEST_CASE("the interval of a published layout is what `run` prints, and is held out from its family" *
          doctest::skip(testing::is_sanitized)) {
  for (const std::set<int>& chosen : {std::set<int>{590}, std::set<int>{2, 590}}) {
    const Validation validation =
        validated(RowKind::layouts, subset("parallel.csv", chosen, "layouts"), Fit::software);
    REQUIRE(validation.cases.size() == chosen.size());
    const auto intervals = case_intervals(validation, Fit::software);
    InputFiles files;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      REQUIRE(intervals[i]);
      const Case& run = validation.cases[i].of;
      check_same(*intervals[i],
                 *prediction_error(inputs_of(testing::shipped_catalogue(), run, run.machine, files)));
      REQUIRE(intervals[i]->held_out);
      CHECK(intervals[i]->held_out->first != intervals[i]->low);
    }
    CHECK(interval_coverage(validation, Fit::software).all->rows == static_cast<int>(chosen.size()));
  }
}

/// The interval for a row from the shipped errors without those for which `is_left_out` holds.
template <class Test>
ExpectedError without(const PublishedErrors& shipped, const Circumstances& of, const Test& is_left_out) {
  PublishedErrors rest = shipped;
  const std::size_t all = rest.runs.size();
  std::erase_if(rest.runs, is_left_out);
  CHECK(rest.runs.size() < all);
  rest.widening = widening_of(rest);
  keep_expected_errors(rest);
  return *expected_error(rest, of);
}

TEST_CASE("--left-out: the interval of a training run has no part of runs that share the property" *
          doctest::skip(testing::is_sanitized)) {
  for (const GroupLeftOut left_out : {GroupLeftOut::framework, GroupLeftOut::model}) {
    const Validation validation =
        validated(RowKind::training, subset("dlperf.csv", {7}, "published"), Fit::nothing, left_out);
    const Circumstances& of = *validation.cases.at(0).predicted.of;
    const auto shares = [&](const PublishedError& run) {
      const bool is_looked_up = run.place.starts_with("dlperf.csv:");
      return is_looked_up && (left_out == GroupLeftOut::model ? run.of.use.model == of.use.model
                                                              : run.of.use.framework == of.use.framework);
    };
    check_held_out(*case_intervals(validation, Fit::nothing).front(),
                   without(*validation.shipped_errors[Fit::nothing], of, shares));
  }
}

TEST_CASE("--left-out: the interval of a layout has no part of runs that share the property" *
          doctest::skip(testing::is_sanitized)) {
  const auto data = subset("parallel.csv", {590}, "layouts");
  std::map<std::string, std::string> sources;  // by place
  for (const PublishedRow& row : data->lookup) sources[place_of(row)] = row.source;
  for (const GroupLeftOut left_out : {GroupLeftOut::publication, GroupLeftOut::generation}) {
    const Validation validation = validated(RowKind::layouts, data, Fit::software, left_out);
    const Circumstances& of = *validation.cases.at(0).predicted.of;
    const auto shares = [&](const PublishedError& run) {
      const auto source = sources.find(run.place);
      if (source == sources.end()) return false;
      return left_out == GroupLeftOut::publication ? source->second == data->rows.front().source
                                                   : run.of.use.generation == of.use.generation;
    };
    check_held_out(*case_intervals(validation, Fit::software).front(),
                   without(*validation.shipped_errors[Fit::software], of, shares));
  }
}

}  // namespace
}  // namespace trainyard
