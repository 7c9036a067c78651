#include "report/training_validation.hpp"

#include "published/run_error_table.hpp"
#include "report/calibration_tables.hpp"
#include "report/interval_report.hpp"
#include "report/text_layout.hpp"
#include "report/training_plot.hpp"

#include <algorithm>
#include <deque>
#include <doctest/doctest.h>
#include <memory>
#include <sstream>

using namespace trainyard;

namespace {

/// Runs made by hand: on one GPU, two that count (one of them 30 % off), one clean in part, one that a rule
/// about outcomes leaves out; and a row that could not be predicted.
struct SampleRuns {
  std::deque<PublishedRow> rows;
  MachineRule machine{.when = {}, .platform = "dgx2", .set = {}, .kin = {}, .note = {}};
  ModelRule model{.when = {}, .model = "resnet50", .set = {}, .note = {}};
  StackRule stack{.when = {}, .stack = "horovod", .set = {}, .note = {}};
  OutlierRule outlier{.when = {}, .reason = "a <reason>"};
  std::shared_ptr<PublishedData> data = std::make_shared<PublishedData>();
  TrainingValidation validation;

  SampleRuns() {
    data->run_rules.families = {{.when = {}, .family = "first & best", .not_in_totals = {}},
                                {.when = {}, .family = "old", .not_in_totals = "too old"}};
    add(1, 100, 110);
    add(4, 400, 410);
    add(8, 700, 910);
    add(16, 1500, 1590);
    rows.back().clean = "partial";
    validation.runs[2].outlier = &outlier;
    ScoredRun& collapsed = add(32, 1600, 3100);
    collapsed.verdicts[FitKind::one_gpu].outcome = "R7: a collapse";
    validation.data = data;
    validation.excluded = {{"no batch per GPU", 1}, {"context, not a measurement", 7}};
    rows.emplace_back().clean = "yes";
    rows.back().gpus_total = 8;
    rows.back().nodes = 1;
    validation.missed = {{.row = &rows.back(), .family = &data->run_rules.families.front()}};
  }

  ScoredRun& add(int gpus, double measured, double predicted) {
    PublishedRow& row = rows.emplace_back();
    row.file = "folder/rows.csv";
    row.line = 2 + static_cast<int>(validation.runs.size());
    row.gpus_total = gpus;
    row.nodes = 1;
    row.clean = "yes";
    ScoredRun& scored = validation.runs.emplace_back();
    scored.run.row = &row;
    scored.run.machine = &machine;
    scored.run.model = &model;
    scored.run.stack = &stack;
    scored.run.measured.batch_per_gpu = 64;
    scored.family = &data->run_rules.families.front();
    scored.predicted.measured = measured;
    for (Prediction& prediction : scored.predicted.by_fit.values) prediction.throughput = predicted;
    scored.verdicts[FitKind::nothing].is_asked = true;
    scored.verdicts[FitKind::one_gpu].is_asked = gpus > 1;
    if (gpus == 1) scored.verdicts[FitKind::one_gpu].excluded = "runs on one GPU are what is fitted to";
    if (gpus > 1) scored.predicted.linear_from_one_gpu = 100.0 * gpus;
    return scored;
  }
};

int occurrences(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the table of training runs has runs, families, totals, outliers and what was left out") {
  const SampleRuns sample;
  const std::string table =
      training_validation_table(sample.validation, {FitKind::nothing, FitKind::one_gpu}, false);
  for (const std::string part :
       {"rows.csv:3", "horovod", "+2.5", "fit nothing", "fit 1gpu", "first & best, incomplete", "all runs  ",
        "all runs, also", "all runs with inc", "20 % with fit 1gpu", "+30.0  rows.csv:4 8 GPUs", "a <reason>",
        "7  context", "1  R7: a collapse", "by stack with fit 1gpu"}) {
    CAPTURE(part);
    CHECK(table.find(part) != std::string::npos);
  }
  const std::string families = training_validation_table(sample.validation, {FitKind::one_gpu}, true);
  CHECK(families.find("rows.csv:3") == std::string::npos);
  CHECK(families.find("fit nothing") == std::string::npos);
}

TEST_CASE("JSON of training runs has errors as ratios, coverage, baselines and reasons") {
  const SampleRuns sample;
  const auto json = training_validation_json(sample.validation, FitKind::one_gpu);
  CHECK(json["overall"]["rows"] == 2);
  CHECK(json["overall"]["mape"].get<double>() == doctest::Approx((0.025 + 0.3) / 2));
  CHECK(json["overall"]["worst"].get<double>() == doctest::Approx(0.3));
  CHECK(json["overall"]["coverage"] == 0.5);  // one is left out by its outcome, one missed
  CHECK(json["overall"]["coverage_of_all"] == 0.5);
  CHECK(json["overall"]["with_implausible"]["rows"] == 3);
  CHECK(json["overall"]["incomplete"]["rows"] == 1);
  CHECK(json["families"]["first & best"]["linear_mape"].get<double>() == doctest::Approx(1.0 / 14));
  CHECK_FALSE(json["families"].contains("old"));
  CHECK(json["baselines"]["linear_from_one_gpu"]["rows"] == 2);
  CHECK(json["rows"].size() == 5);
  CHECK(json["rows"][1]["error"].get<double>() == doctest::Approx(0.025));
  CHECK(json["rows"][0]["scored"] == false);
  CHECK(json["rows"][4]["excluded"] == "R7: a collapse");
  REQUIRE(json["outliers"].size() == 1);
  CHECK(json["outliers"][0]["reason"] == "a <reason>");
  CHECK(json["excluded"]["no batch per GPU"] == 1);
}

TEST_CASE("a run that a rule always names is listed, however small its error") {
  SampleRuns sample;
  OutlierRule always_named{.when = {}, .reason = "known", .always_named = true};
  sample.validation.runs[1].outlier = &always_named;
  const std::string table = training_validation_table(sample.validation, {FitKind::one_gpu}, true);
  CHECK(table.find("+2.5  rows.csv:3 4 GPUs") != std::string::npos);
  CHECK(table.find(": known\n") != std::string::npos);
  const std::size_t worse = table.find("+30.0  rows.csv:4");
  CHECK(table.find(": known\n") > worse);
  const auto outliers = training_validation_json(sample.validation, FitKind::one_gpu)["outliers"];
  REQUIRE(outliers.size() == 2);
  CHECK(outliers[0]["always_named"] == false);
  CHECK(outliers[1]["always_named"] == true);
}

TEST_CASE("runs with large errors are grouped by cause, which is printed once and wrapped") {
  SampleRuns sample;
  std::string cause = "a cause";
  for (int i = 0; i < 40; ++i) cause += " words";
  OutlierRule always_named{.when = {}, .reason = cause, .always_named = true};
  for (ScoredRun& run : sample.validation.runs) run.outlier = &always_named;
  const std::string table = training_validation_table(sample.validation, {FitKind::one_gpu}, true);
  const std::size_t at = table.find("a cause");
  REQUIRE(at != std::string::npos);
  CHECK(table.find("a cause", at + 1) == std::string::npos);
  CHECK(table.find("+30.0  rows.csv:4") > at);
  CHECK(table.find("+2.5  rows.csv:3 4 GPUs") > at);
  std::istringstream lines(table.substr(at));
  for (std::string line; std::getline(lines, line);) CHECK(columns(line) <= 100);
}

TEST_CASE("families outside the totals count by themselves") {
  SampleRuns sample;
  for (ScoredRun& run : sample.validation.runs) run.family = &sample.data->run_rules.families.back();
  const auto json = training_validation_json(sample.validation, FitKind::one_gpu);
  CHECK(json["overall"]["rows"] == 0);
  CHECK(json["overall"]["mape"].is_null());
  CHECK(json["families"]["old"]["rows"] == 2);
  CHECK(json["families"]["old"]["not_in_totals"] == "too old");
  CHECK(json["outliers"].empty());
  CHECK(training_plot(sample.validation).find("<circle") == std::string::npos);
}

TEST_CASE("the picture of training runs draws each that is scored, and linear scaling of it") {
  const SampleRuns sample;
  const std::string svg = training_plot(sample.validation);
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(occurrences(svg, "<circle") == 2 * 3 + 3);         // the legend has three
  CHECK(occurrences(svg, "<g class=\"part\">") == 1 + 1);  // of one panel
  CHECK(occurrences(svg, "<polygon") == 0);
  for (const std::string text : {">first &amp; best<", ">16.2 %, linear 7.1 %, 2 runs; 1 incomplete 6.0 %<",
                                 ">16<", "Predicted / measured training throughput", "linear scaling"}) {
    CAPTURE(text);
    CHECK(svg.find(text) != std::string::npos);
  }
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("runs on one number of GPUs stand beside each other, those far off are arrows at the edge") {
  SampleRuns sample;
  for (const double predicted : {800.0, 810.0, 3000.0}) sample.add(8, 790, predicted);
  const std::string svg = training_plot(sample.validation);
  CHECK(occurrences(svg, "<polygon") == 1);
  std::vector<std::string> places;
  const std::size_t marks = svg.rfind("<g class=\"mark\">");
  for (std::size_t at = svg.find("cx=", marks); at < svg.find("</g>", marks); at = svg.find("cx=", at + 1))
    places.push_back(svg.substr(at, svg.find(' ', at) - at));
  REQUIRE(places.size() == 4);  // one on four GPUs, three of four on eight
  std::ranges::sort(places);
  CHECK(std::ranges::adjacent_find(places) == places.end());
}

TEST_CASE("the table of a fitted stack names its runs, the scale and what was not fitted to") {
  const SampleRuns sample;
  StackFit fit;
  fit.stack.compute_scale.value = 1.25;
  fit.runs = {
      {.run = sample.validation.runs[0].run, .measured = 100, .predicted = 125, .scale = 1.3, .error = 0.04}};
  fit.excluded = {{"of another stack", 3}};
  const std::string table = stack_fit_table(fit);
  for (const std::string part :
       {"rows.csv:2", "1.300", "+4.0", "compute_scale 1.2500", "3  of another stack"}) {
    CAPTURE(part);
    CHECK(table.find(part) != std::string::npos);
  }
}

TEST_CASE("the errors of comparisons have a table of their own, by what the pairs of runs differ in") {
  SampleRuns sample;
  CHECK(training_validation_table(sample.validation, {FitKind::nothing}, true).find("pairs differ in") ==
        std::string::npos);
  for (int series = 1; series <= 12; ++series) {
    for (const int gpus : {4, 8}) {
      ScoredRun& scored = sample.add(gpus, 95.0 * gpus + (gpus == 8 ? series : 0), 100.0 * gpus);
      scored.run.series.system = std::to_string(series);
    }
  }
  sample.validation.shipped_errors[FitKind::nothing] =
      std::make_shared<const PublishedErrors>(published_errors(sample.validation, FitKind::nothing));
  const std::string table = training_validation_table(sample.validation, {FitKind::nothing}, true);
  CAPTURE(table);
  CHECK(table.find("pairs differ in") != std::string::npos);
  CHECK(table.find("\nnumber of GPUs  ") != std::string::npos);
  const nlohmann::ordered_json json = training_validation_json(sample.validation, FitKind::nothing);
  CHECK(json["ratio_error"]["share"] == 0.8);
  const auto& gpus = json["ratio_error"]["changes"]["gpus"];
  CHECK(gpus["pairs"].get<int>() >= 12);
  CHECK(gpus["coverage"].get<double>() > 0.7);
  CHECK(gpus["median_half_width"].get<double>() > 0.01);
  CHECK_FALSE(json["ratio_error"]["changes"].contains("batch"));
}

TEST_CASE("every run has its interval in JSON and CSV, and whether it lies inside") {
  SampleRuns sample;
  for (int i = 0; i < 30; ++i) sample.add(8, 800 + i, 800).run.series.system = std::to_string(i);
  sample.validation.shipped_errors[FitKind::nothing] =
      std::make_shared<const PublishedErrors>(published_errors(sample.validation, FitKind::nothing));
  const auto json = training_validation_json(sample.validation, FitKind::nothing);
  int inside = 0;
  int runs = 0;
  for (const auto& row : json["rows"]) {
    CAPTURE(row.dump());
    if (row["low"].is_null()) continue;
    const double ratio = row["measured"].get<double>() / row["predicted"].get<double>() - 1;
    const bool is_inside = ratio >= row["low"].get<double>() && ratio <= row["high"].get<double>();
    CHECK(row["inside"] == is_inside);
    CHECK(row["inside_held_out"] ==
          (ratio >= row["low_held_out"].get<double>() && ratio <= row["high_held_out"].get<double>()));
    if (!row["scored"].get<bool>() || row["incomplete"].get<bool>()) continue;
    ++runs;
    inside += is_inside ? 1 : 0;
  }
  const auto& overall = json["expected_error"]["overall"];
  CHECK(overall["rows"] == runs);
  CHECK(overall["coverage"].get<double>() == doctest::Approx(1.0 * inside / runs));
  CHECK(overall["held_out"]["rows"] == runs);
  CHECK(training_validation_json(sample.validation, FitKind::one_gpu)["rows"][1]["low"].is_null());

  const std::string csv = validated_runs_csv(json, {});
  CHECK(csv.starts_with("file,line,family,"));
  CHECK(csv.find(",low,high,inside,low_held_out,high_held_out,inside_held_out,") != std::string::npos);
  CHECK(occurrences(csv, "\n") == static_cast<int>(json["rows"].size()) + 1);
  const std::string table = training_validation_table(sample.validation, {FitKind::nothing}, true);
  CHECK(table.find("held out") != std::string::npos);
}
