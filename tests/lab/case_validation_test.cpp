#include "document/writers.hpp"
#include "lab/pages.hpp"
#include "published/case_intervals.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <doctest/doctest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

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
  Validation validation{.kind = RowKind::training, .data = std::make_shared<PublishedData>()};

  SampleRuns() {
    for (const auto& [name, not_in_totals] : {std::pair("first & best", ""), std::pair("old", "too old")})
      validation.families.push_back(std::make_unique<const Family>(Family{name, not_in_totals}));
    add(1, 100, 110);
    add(4, 400, 410);
    add(8, 700, 910);
    add(16, 1500, 1590);
    rows.back().clean = "partial";
    validation.cases[2].outlier = &outlier;
    ScoredCase& collapsed = add(32, 1600, 3100);
    collapsed.verdicts[Fit::one_gpu].outcome = "R7: a collapse";
    validation.excluded = {{"no batch per GPU", 1}, {"context, not a measurement", 7}};
    rows.emplace_back().clean = "yes";
    rows.back().gpus_total = 8;
    rows.back().nodes = 1;
    validation.missed = {{.row = &rows.back(), .family = validation.families.front().get()}};
  }

  ScoredCase& add(int gpus, double measured, double predicted) {
    PublishedRow& row = rows.emplace_back();
    row.file = "folder/rows.csv";
    row.line = 2 + static_cast<int>(validation.cases.size());
    row.gpus_total = gpus;
    row.nodes = 1;
    row.clean = "yes";
    ScoredCase& scored = validation.cases.emplace_back(ScoredCase{.of = {.data = validation.data,
                                                                         .row = &row,
                                                                         .machine = &machine,
                                                                         .model = &model,
                                                                         .stack = &stack,
                                                                         .measured = measured,
                                                                         .batch_per_gpu = 64}});
    scored.family = validation.families.front().get();
    scored.predicted.measured = measured;
    scored.predicted.of = Circumstances{.platform = "dgx2", .gpus = gpus, .batch_per_gpu = 64};
    for (Prediction& prediction : scored.predicted.by_fit.values) prediction.value = predicted;
    scored.verdicts[Fit::nothing].is_asked = true;
    scored.verdicts[Fit::one_gpu].is_asked = gpus > 1;
    if (gpus == 1) scored.verdicts[Fit::one_gpu].excluded = "runs on one GPU are what is fitted to";
    if (gpus > 1) scored.predicted.linear[Fit::one_gpu] = 100.0 * gpus;
    return scored;
  }

  /// Intervals are those of the cases themselves.
  void ship(Fit fit) {
    validation.shipped_errors[fit] = std::make_shared<const PublishedErrors>(error_table(validation, fit));
  }
};

std::string text_of(const Validation& validation, const std::vector<Fit>& fits, bool only_families) {
  doc::Document page;
  add_cases(page, validation, fits, only_families);
  return doc::text(page);
}

int occurrences(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the table of training runs has runs, families, totals, outliers and what was left out") {
  const SampleRuns sample;
  const std::string table = text_of(sample.validation, {Fit::nothing, Fit::one_gpu}, false);
  for (const std::string part :
       {"rows.csv:3", "horovod", "+2.5", "fit nothing", "fit 1gpu", "first & best, incomplete", "all runs  ",
        "all runs, also", "all runs with inc", "20 % with fit 1gpu", "+30.0  rows.csv:4 8 GPUs", "a <reason>",
        "7  context", "1  R7: a collapse", "by stack with fit 1gpu"}) {
    CAPTURE(part);
    CHECK(table.find(part) != std::string::npos);
  }
  const std::string families = text_of(sample.validation, {Fit::one_gpu}, true);
  CHECK(families.find("rows.csv:3") == std::string::npos);
  CHECK(families.find("fit nothing") == std::string::npos);
}

TEST_CASE("JSON of training runs has errors as ratios, coverage, baselines and reasons") {
  const SampleRuns sample;
  const auto json = case_validation_json(sample.validation, Fit::one_gpu);
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
  sample.validation.cases[1].outlier = &always_named;
  const std::string table = text_of(sample.validation, {Fit::one_gpu}, true);
  CHECK(table.find("+2.5  rows.csv:3 4 GPUs") != std::string::npos);
  CHECK(table.find(": known\n") != std::string::npos);
  const std::size_t worse = table.find("+30.0  rows.csv:4");
  CHECK(table.find(": known\n") > worse);
  const auto outliers = case_validation_json(sample.validation, Fit::one_gpu)["outliers"];
  REQUIRE(outliers.size() == 2);
  CHECK(outliers[0]["always_named"] == false);
  CHECK(outliers[1]["always_named"] == true);
}

TEST_CASE("runs with large errors are grouped by cause, which is printed once and wrapped") {
  SampleRuns sample;
  std::string cause = "a cause";
  for (int i = 0; i < 40; ++i) cause += " words";
  OutlierRule always_named{.when = {}, .reason = cause, .always_named = true};
  for (ScoredCase& run : sample.validation.cases) run.outlier = &always_named;
  const std::string table = text_of(sample.validation, {Fit::one_gpu}, true);
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
  for (ScoredCase& run : sample.validation.cases) run.family = sample.validation.families.back().get();
  const auto json = case_validation_json(sample.validation, Fit::one_gpu);
  CHECK(json["overall"]["rows"] == 0);
  CHECK(json["overall"]["mape"].is_null());
  CHECK(json["families"]["old"]["rows"] == 2);
  CHECK(json["families"]["old"]["not_in_totals"] == "too old");
  CHECK(json["outliers"].empty());
}

TEST_CASE("the table of a fitted stack names its runs, the scale and what was not fitted to") {
  const SampleRuns sample;
  StackFit fit;
  fit.stack.compute_scale.value = 1.25;
  fit.runs = {
      {.run = sample.validation.cases[0].of, .measured = 100, .predicted = 125, .scale = 1.3, .error = 0.04}};
  fit.excluded = {{"of another stack", 3}};
  const std::string table = doc::text(stack_fit_document(fit));
  for (const std::string part :
       {"rows.csv:2", "1.300", "+4.0", "compute_scale 1.2500", "3  of another stack"}) {
    CAPTURE(part);
    CHECK(table.find(part) != std::string::npos);
  }
}

TEST_CASE("the errors of comparisons have a table of their own, by what the pairs of runs differ in") {
  SampleRuns sample;
  CHECK(text_of(sample.validation, {Fit::nothing}, true).find("pairs differ in") == std::string::npos);
  for (int series = 1; series <= 12; ++series) {
    for (const int gpus : {4, 8}) {
      ScoredCase& scored = sample.add(gpus, 95.0 * gpus + (gpus == 8 ? series : 0), 100.0 * gpus);
      scored.of.series = std::to_string(series);
    }
  }
  sample.ship(Fit::nothing);
  const std::string table = text_of(sample.validation, {Fit::nothing}, true);
  CAPTURE(table);
  CHECK(table.find("pairs differ in") != std::string::npos);
  CHECK(table.find("\nnumber of GPUs  ") != std::string::npos);
  const nlohmann::ordered_json json = case_validation_json(sample.validation, Fit::nothing);
  CHECK(json["ratio_error"]["share"] == 0.8);
  const auto& gpus = json["ratio_error"]["changes"]["gpus"];
  CHECK(gpus["pairs"].get<int>() >= 12);
  CHECK(gpus["coverage"].get<double>() > 0.7);
  CHECK(gpus["median_half_width"].get<double>() > 0.01);
  CHECK_FALSE(json["ratio_error"]["changes"].contains("batch"));
}

TEST_CASE("every run has its interval in JSON and CSV, and whether it lies inside") {
  SampleRuns sample;
  for (int i = 0; i < 30; ++i) sample.add(8, 800 + i, 800).of.series = std::to_string(i);
  sample.ship(Fit::nothing);
  const auto json = case_validation_json(sample.validation, Fit::nothing);
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
  CHECK(case_validation_json(sample.validation, Fit::one_gpu)["rows"][1]["low"].is_null());

  const std::string csv = validated_cases_csv(std::vector(1, json));
  CHECK(csv.starts_with("file,line,family,"));
  CHECK(csv.find(",low,high,inside,low_held_out,high_held_out,inside_held_out,") != std::string::npos);
  CHECK(occurrences(csv, "\n") == static_cast<int>(json["rows"].size()) + 1);
  const std::string table = text_of(sample.validation, {Fit::nothing}, true);
  CHECK(table.find("held out") != std::string::npos);
}

namespace {

/// Two results of MLPerf: samples and time of one, of which the time is fitted to, and one whose time no rule
/// claims.
struct SampleTargets {
  ModelRule model{.when = {}, .model = "resnet50_mlperf", .set = {}, .note = {}};
  MachineRule machine{.when = {}, .platform = "dgx_a100", .set = {}, .kin = {}, .note = {}};
  StackRule stack{.when = {}, .stack = "horovod", .set = {}, .note = {}};
  Validation validation{.kind = RowKind::targets};

  SampleTargets() {
    PublishedData data;
    data.rows = read_published_rows(
        "rows.csv",
        "round,submitter,system,benchmark,accelerator,accelerators_per_node,nodes,accelerators,framework,"
        "global_batch,samples_mean,time_to_train_score_s\n"
        "v2.0,Somebody,box,resnet,A100,8,1,8,MXNet,3264,45000000,1700\n"
        "v2.0,Somebody,other,resnet,TPU,8,1,8,JAX,3264,45000000,1700\n");
    validation.data = std::make_shared<const PublishedData>(std::move(data));
    for (const char* name : {"samples to target, ResNet-50", "time to train, ResNet-50"})
      validation.families.push_back(std::make_unique<const Family>(Family{name, {}}));
    const PublishedRow* const row = validation.data->rows.data();
    const CaseTarget target{.samples = 4.5e7, .low = 44e6, .high = 46e6};
    ScoredCase& samples = add(CaseFigure::samples_to_target, row, 45e6, {4.5e7, 4.5e7, 4.5e7});
    samples.of.target = target;
    ScoredCase& time = add(CaseFigure::time_to_train, row, 1700, {1360, 1870, {}});
    time.of.target = target;
    time.of.machine = &machine;
    time.of.stack = &stack;
    time.verdicts[Fit::one_system] = {.excluded = "it is fitted to"};
    validation.missed = {{.row = row + 1, .family = validation.families.back().get()}};
    validation.excluded = {{"no profile describes the accelerator", 1}};
  }

  ScoredCase& add(CaseFigure figure, const PublishedRow* row, double measured,
                  const std::array<std::optional<double>, 3>& predicted) {
    ScoredCase& scored = validation.cases.emplace_back(ScoredCase{
        .of = {
            .data = validation.data, .row = row, .model = &model, .figure = figure, .measured = measured}});
    scored.family = validation.families[validation.cases.size() - 1].get();
    scored.predicted.measured = measured;
    const std::vector<Fit> fits = fits_of(RowKind::targets);
    for (std::size_t i = 0; i < fits.size(); ++i) {
      scored.predicted.by_fit[fits[i]].value = predicted[i];
      scored.verdicts[fits[i]].is_asked = true;
    }
    return scored;
  }
};

/// Three reports made by hand: a speed with ranges, one without, and a run out of memory that is predicted to
/// fit.
struct SampleReports {
  Validation validation{.kind = RowKind::reports};

  SampleReports() {
    PublishedData data;
    data.rows.resize(3);
    for (PublishedRow& row : data.rows) {
      row.file = "mine.csv";
      row.line = 2 + static_cast<int>(&row - data.rows.data());
      row.gpus_total = 8;
      row.clean = "partial";
      row.report = ReportColumns{.id = "issue-" + std::to_string(row.line), .experiment = "its.yaml"};
    }
    validation.data = std::make_shared<const PublishedData>(std::move(data));
    validation.families.push_back(std::make_unique<const Family>(Family{"replicas on one node", {}}));
    PredictedCase& ranged = add(CaseFigure::throughput, 100, 110);
    ranged.bounds = ErrorBounds{-0.05, 0.05};
    ranged.ends = {{.value = 130, .bounds = ErrorBounds{-0.1, 0.1}},
                   {.value = 90, .bounds = ErrorBounds{-0.1, 0.1}}};
    validation.cases.back().of.experiment->ends = {{}, {}};
    add(CaseFigure::throughput, 50, 60).bounds = ErrorBounds{-0.05, 0.05};
    add(CaseFigure::out_of_memory, 0, 1);
    validation.excluded = {{"cannot be said: LoRA", 2}};
  }

  PredictedCase& add(CaseFigure figure, double measured, double predicted) {
    const PublishedRow& row = validation.data->rows[validation.cases.size()];
    ScoredCase& scored = validation.cases.emplace_back(
        ScoredCase{.of = {.data = validation.data, .row = &row, .figure = figure, .measured = measured}});
    scored.of.experiment =
        CaseExperiment{.file = "its.yaml", .platform = "box", .model = "net", .stack = "ddp"};
    scored.family = validation.families.front().get();
    scored.predicted.measured = measured;
    scored.predicted.by_fit[Fit::software].value = predicted;
    scored.predicted.memory = CaseMemory{.fits = true};
    scored.verdicts[Fit::software].is_asked = true;
    return scored.predicted;
  }
};

/// One batch that ran for each of the first two numbers, and one that failed for each of the others.
MemoryValidation sample_outcomes(const SampleRuns& sample, int accepted, int wrongly_refused, int refused,
                                 int wrongly_accepted) {
  MemoryValidation validation;
  const auto add = [&](int count, bool ran, bool fits) {
    for (int i = 0; i < count; ++i)
      validation.outcomes.push_back(
          {.of = sample.validation.cases[0].of,
           .ran = ran,
           .framework = "PyTorch",
           .memory = {.in_use = Bytes{2e9}, .available = Bytes{1e9}, .fits = fits}});
  };
  add(accepted, true, true);
  add(wrongly_refused, true, false);
  add(refused, false, false);
  add(wrongly_accepted, false, true);
  validation.excluded = {{"no rule matches the software", 2}};
  return validation;
}

}  // namespace

TEST_CASE("the JSON of trainings to a target has every figure, with its error or the reason against it") {
  const SampleTargets sample;
  const auto json = case_validation_json(sample.validation, Fit::software);
  CHECK_FALSE(json.contains("overall"));  // figures differ
  CHECK(json["families"].size() == 2);
  const auto& times = json["families"]["time to train, ResNet-50"];
  CHECK(times["rows"] == 1);
  CHECK(times["coverage"] == 0.5);
  CHECK(times["mape"].get<double>() == doctest::Approx(0.1));
  const auto& intervals = json["expected_error"]["families"];
  CHECK(intervals.size() == 1);
  CHECK(intervals["samples to target, ResNet-50"]["coverage"] == 1);
  REQUIRE(json["rows"].size() == 2);
  CHECK(json["rows"][0]["figure"] == "samples to target");
  CHECK(json["rows"][0]["platform"].is_null());
  CHECK(json["rows"][0]["low"].get<double>() == doctest::Approx(44.0 / 45 - 1));
  CHECK(json["rows"][0]["high"].get<double>() == doctest::Approx(46.0 / 45 - 1));
  CHECK(json["rows"][0]["inside"] == true);
  CHECK(json["rows"][1]["figure"] == "time to train");
  CHECK(json["rows"][1]["unit"] == "s");
  CHECK(json["rows"][1]["round"] == "2.0");
  CHECK(json["rows"][1]["platform"] == "dgx_a100");
  CHECK(json["rows"][1]["low"].is_null());
  CHECK(json["rows"][1]["scored"] == true);
  CHECK(json["excluded"]["no profile describes the accelerator"] == 1);
  const auto fitted = case_validation_json(sample.validation, Fit::one_system);
  CHECK(fitted["rows"][1]["scored"] == false);
  CHECK(fitted["rows"][1]["error"].is_null());
  CHECK(fitted["rows"][1]["excluded"] == "it is fitted to");
}

TEST_CASE("the table of trainings to a target has a line for each family and fit") {
  const SampleTargets sample;
  const std::string text = text_of(sample.validation, {Fit::nothing, Fit::software}, true);
  CHECK(text.find("-20.0") != std::string::npos);
  CHECK(text.find("+10.0") != std::string::npos);
  CHECK(text.find("rows.csv:2") == std::string::npos);
  CHECK(text.find("all runs") == std::string::npos);  // figures differ
  const std::string all = text_of(sample.validation, {Fit::one_system}, false);
  CHECK(all.find("rows.csv:2") != std::string::npos);
  CHECK(all.find("1  it is fitted to") != std::string::npos);
}

TEST_CASE("JSON of reports has their names, the ends of their ranges and how many lie within these") {
  const SampleReports sample;
  const auto json = case_validation_json(sample.validation, Fit::software);
  REQUIRE(json["rows"].size() == 3);
  const auto& ranged = json["rows"][0];
  CHECK(ranged["id"] == "issue-2");
  CHECK(ranged["experiment"] == "its.yaml");
  CHECK(ranged["platform"] == "box");
  CHECK(ranged["stack"] == "ddp");
  CHECK(ranged["predicted_low"] == 90);
  CHECK(ranged["predicted_high"] == 130);
  CHECK(ranged["low"].get<double>() == doctest::Approx(90 * 0.9 / 110 - 1));
  CHECK(ranged["high"].get<double>() == doctest::Approx(130 * 1.1 / 110 - 1));
  CHECK(ranged["inside"] == true);
  CHECK(ranged["inside_without_ranges"] == false);
  CHECK_FALSE(json["rows"][1].contains("predicted_low"));
  CHECK(json["rows"][1]["inside"] == false);
  CHECK(json["rows"][2]["error"].is_null());
  CHECK(json["rows"][2]["inside"].is_null());
  CHECK(json["expected_error"]["overall"]["coverage"] == 0.5);
  CHECK(json["overall"]["incomplete"]["rows"] == 2);
  CHECK(json["memory"]["ran"]["accepted"] == 2);
  CHECK(json["memory"]["failed"]["refused"] == 0);
  const std::string csv = validated_cases_csv({json});
  CHECK(csv.find("issue-2,its.yaml,90,130\n") != std::string::npos);
}

TEST_CASE("the text of reports has a line for each, its range, and the reasons of others") {
  const SampleReports sample;
  const std::string text = text_of(sample.validation, {Fit::software}, false);
  for (const std::string part :
       {"issue-2", "130", "+10.0", "yes", "+20.0", "no", "replicas on one node, incomplete",
        "0 of 1 that ran out of memory", "0 of 2 runs are inside without", "2  cannot be said: LoRA"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text_of(sample.validation, {Fit::software}, true).find("issue-2") == std::string::npos);
}

TEST_CASE("rows of several kinds make one CSV with the same columns") {
  const SampleTargets targets;
  const SampleRuns runs;
  const std::string csv = validated_cases_csv({case_validation_json(runs.validation, Fit::software),
                                               case_validation_json(targets.validation, Fit::software)});
  CHECK(occurrences(csv, "\n") == 1 + 5 + 2);
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const int commas = occurrences(line, ",");
  while (std::getline(lines, line)) {
    const bool has_comma_in_family = line.find('"') != std::string::npos;
    CHECK(occurrences(line, ",") == commas + (has_comma_in_family ? 1 : 0));
  }
}

TEST_CASE("verdicts on memory are counted by what happened, and wrong ones are named") {
  const SampleRuns sample;
  const MemoryValidation validation = sample_outcomes(sample, 3, 1, 4, 2);
  const auto json = memory_outcomes_json(validation);
  CHECK(json["ran"]["batches"] == 4);
  CHECK(json["ran"]["accepted"] == 3);
  CHECK(json["ran"]["share"] == 0.75);
  CHECK(json["failed"]["batches"] == 6);
  CHECK(json["failed"]["refused"] == 4);
  REQUIRE(json["by_framework"].size() == 1);
  CHECK(json["by_framework"][0]["refused"] == 4);
  REQUIRE(json["wrong"].size() == 3);
  CHECK(json["wrong"][0]["outcome"] == "ran");
  CHECK(json["wrong"][0]["memory_peak_bytes"] == 2e9);
  CHECK(json["wrong"][2]["outcome"] == "failed");
  CHECK(json["excluded"]["no rule matches the software"] == 2);
  CHECK(memory_outcomes_json(sample_outcomes(sample, 1, 0, 0, 0))["failed"]["share"].is_null());
  doc::Document page;
  add_memory_outcomes(page, validation);
  const std::string text = doc::text(page);
  CHECK(text.find("PyTorch") != std::string::npos);
  CHECK(occurrences(text, "batch 64") == 3);
}
