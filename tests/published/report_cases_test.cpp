// Reports that name an experiment each: which figures are compared, ranges, and what is wrong with a table.

#include "published/report_cases.hpp"

#include "errors_of.hpp"
#include "experiment/prediction_error.hpp"
#include "published/case_intervals.hpp"
#include "published/published_text.hpp"
#include "published/scores.hpp"
#include "published/validation.hpp"
#include "run/simulate.hpp"
#include "shipped_catalogue.hpp"
#include "temporary_folder.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <string>

namespace trainyard {
namespace {

const std::string report_header =
    "id,source,date,gpu,nodes,gpus,model,software,precision,layout,batch,metric,value,unit,experiment,ranges,"
    "clean,"
    "notes\n";

/// BERT base on the eight V100 of a node.
const std::string bert_experiment =
    "platform: dgx1v\nnodes: 1\nmodel: bert_base\nstack: pytorch_ddp\nprecision: amp\nbatch_per_gpu: 8\n"
    "optimizer: adam\nset: {model.bert.sequence_length: 128}\n";

/// An all-reduce of 1 GiB on the same node.
const std::string reduce_experiment =
    "platform: dgx1v\nnodes: 1\ntrace: reduce.csv\nstack: pytorch_ddp\nprecision: fp32\nbatch_per_gpu: 1\n";
const std::string reduce_trace =
    "# trainyard trace: 1\n# model: all-reduce\n# batch_per_gpu: 1\n"
    "phase,layer,duration_s,communication,communication_bytes,waits\n"
    "backward,begin,1e-9,all_reduce,1073741824,0\noptimizer,end,1e-9,,,\n";

std::string report_line(const std::string& figure, const std::string& experiment = "bert.yaml",
                        const std::string& ranges = "", const std::string& end = "yes,") {
  return fmt::format("a,an issue,2024-06,V100,1,8,BERT,DDP,amp,DP8,\"8, 128 tok\",{},{},{},{}\n", figure,
                     experiment, ranges, end);
}

/// Tables in a folder with experiments, in a folder of their own.
struct Reports {
  TemporaryFolder folder;

  Reports() {
    std::filesystem::create_directory(folder.path / "mine");
    write("mine/bert.yaml", bert_experiment);
    write("mine/reduce.yaml", reduce_experiment);
    write("mine/reduce.csv", reduce_trace);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path / name) << text;
  }

  [[nodiscard]] std::vector<PublishedRow> rows(const std::string& lines) const {
    return read_published_rows((folder.path / "mine.csv").string(), report_header + lines);
  }

  [[nodiscard]] Validation validated(const std::string& lines) const {
    return validate_rows(testing::shipped_catalogue(), RowKind::reports, data_of(rows(lines), MachineRules()),
                         1, {.fits = {Fit::nothing}});
  }

  [[nodiscard]] ResolvedExperiment resolved(const Overrides& set = {}) const {
    return resolve(testing::shipped_catalogue(), (folder.path / "mine/bert.yaml").string(), set);
  }
};

double predicted(const ScoredCase& scored) { return scored.predicted.by_fit[Fit::software].value.value(); }

TEST_CASE("a report is predicted as its experiment runs, with the interval that run prints") {
  const Reports reports;
  const Validation validation = reports.validated(report_line("tok_s,128000,tokens/s"));
  REQUIRE(validation.cases.size() == 1);
  const ScoredCase& scored = validation.cases[0];
  const ResolvedExperiment its = reports.resolved();
  CHECK(predicted(scored) == doctest::Approx(checked_closed_pace(its).throughput).epsilon(1e-12));
  CHECK(scored.predicted.measured.value() == doctest::Approx(1000));
  CHECK(scored.of.platform_name() == "dgx1v");
  CHECK(scored.of.stack_name() == "pytorch_ddp");
  CHECK(scored.family->name == "replicas on one node");
  const auto interval = case_intervals(validation, Fit::software)[0].value();
  const ExpectedError printed = *prediction_error(its);
  CHECK(interval.low == doctest::Approx(printed.low));
  CHECK(interval.high == doctest::Approx(printed.high));
  CHECK(interval.ratio == doctest::Approx(1000 / predicted(scored) - 1));
  CHECK(errors_of(validation, Fit::software).rows == 1);
}

TEST_CASE("all metrics of one run state one speed") {
  const Reports reports;
  const ResolvedExperiment its = reports.resolved();
  const MatrixWork work = *matrix_work(its, 2);  // two steps of 64 samples per second
  const Validation validation =
      reports.validated(report_line("samples_s,128,images/s") + report_line("tok_s,16384,tokens/s") +
                        report_line("tok_s_gpu,2048,tokens/s/GPU (stated)") + report_line("step_ms,500,ms") +
                        report_line(fmt::format("tflops_gpu,{},TFLOP/s/GPU", work.rate.si() / 1e12)) +
                        report_line(fmt::format("mfu_pct,{},% MFU", 100 * work.utilization)));
  REQUIRE(validation.cases.size() == 6);
  for (const ScoredCase& scored : validation.cases) {
    CAPTURE(scored.of.row->metric);
    CHECK(scored.predicted.measured.value() == doctest::Approx(128).epsilon(1e-4));
  }
}

TEST_CASE("ranges are predicted at both ends, and widen the interval") {
  const Reports reports;
  const Validation validation = reports.validated(
      report_line("step_ms,60,ms", "bert.yaml", "batch_per_gpu = 4..32; accumulation=1..2", "partial,"));
  REQUIRE(validation.cases.size() == 1);
  const PredictedCase& its = validation.cases[0].predicted;
  REQUIRE(its.ends.size() == 2);
  const auto step = [&](const char* batch, const char* accumulation) {
    return checked_closed_pace(reports.resolved({{"batch_per_gpu", batch}, {"accumulation", accumulation}}))
        .time.si();
  };
  const double as_it_stands = step("8", "1");
  // a longer step is a lower speed, whatever its batch
  CHECK(its.ends[0].value == doctest::Approx(predicted(validation.cases[0]) * as_it_stands / step("4", "1")));
  CHECK(its.ends[1].value ==
        doctest::Approx(predicted(validation.cases[0]) * as_it_stands / step("32", "2")));
  const auto interval = case_intervals(validation, Fit::software)[0].value();
  CHECK(interval.low < its.bounds->low);
  CHECK(interval.high > its.bounds->high);
  const auto coverage = interval_coverage(validation, Fit::software);
  REQUIRE(coverage.all);  // though the source is incomplete
  CHECK(coverage.families.size() == 1);
  CHECK(coverage.all->rows == 1);
  CHECK(errors_of(validation, Fit::software).rows == 0);
  CHECK(errors_of(validation, Fit::software, {.is_incomplete = true}).rows == 1);
}

TEST_CASE("an end that cannot be run leaves the row without its range") {
  const Reports reports;
  const Validation validation =
      reports.validated(report_line("step_ms,60,ms", "bert.yaml", "gpus=4..400", "partial,"));
  REQUIRE(validation.cases.size() == 1);
  CHECK(validation.cases[0].is_scored(Fit::software));
  CHECK(validation.cases[0].predicted.ends.empty());
  CHECK_FALSE(validation.cases[0].predicted.without_ends.empty());
}

TEST_CASE("an end on another number of GPUs than the row states is none of the row") {
  const Reports reports;
  const Validation validation =
      reports.validated(report_line("step_ms,60,ms", "bert.yaml", "gpus=4..8", "partial,"));
  REQUIRE(validation.cases.size() == 1);
  CHECK(validation.cases[0].is_scored(Fit::software));
  CHECK(validation.cases[0].predicted.without_ends.find("number of GPUs") != std::string::npos);
}

TEST_CASE("a report without a number of GPUs is in a family of its own") {
  const Reports reports;
  std::string line = report_line("step_ms,60,ms");
  line.replace(line.find("1,8,"), 4, ",,");
  const Validation validation = reports.validated(line);
  REQUIRE(validation.cases.size() == 1);
  CHECK(validation.cases[0].is_scored(Fit::software));
  CHECK(validation.cases[0].family->name == "number of GPUs not stated");
}

TEST_CASE("a row of other GPUs than its experiment is left out") {
  const Reports reports;
  std::string line = report_line("step_ms,60,ms");
  line.replace(line.find("1,8,"), 4, "1,4,");
  const Validation validation = reports.validated(line);
  REQUIRE(validation.cases.size() == 1);
  CHECK_FALSE(validation.cases[0].is_scored(Fit::software));
  CHECK(validation.cases[0].verdicts[Fit::software].excluded.find("number of GPUs") != std::string::npos);
}

TEST_CASE("a bus bandwidth is that of the only collective of a step") {
  const Reports reports;
  const Validation validation = reports.validated(report_line("busbw,130,GB/s", "reduce.yaml"));
  REQUIRE(validation.cases.size() == 1);
  const ScoredCase& scored = validation.cases[0];
  const ResolvedExperiment its =
      resolve(testing::shipped_catalogue(), (reports.folder.path / "mine/reduce.yaml").string(), {});
  const double step = checked_closed_pace(its).time.si();
  CHECK(predicted(scored) == doctest::Approx(1.75 * 1073741824 / step));
  CHECK(scored.predicted.measured == 130e9);
  CHECK(scored.predicted.bounds);
  CHECK(errors_of(validation, Fit::software).rows == 0);  // no speed of training
  CHECK(errors_of(validation, Fit::software, {.family = "collectives"}).rows == 1);
  const Validation of_a_run = reports.validated(report_line("busbw,130,GB/s"));
  CHECK_FALSE(of_a_run.cases[0].is_scored(Fit::software));
}

TEST_CASE("reports that a run fits, or does not, are compared with the verdict on its memory") {
  const Reports reports;
  const Validation validation = reports.validated(
      report_line("fits,1,verdict") + report_line("fits,OOM,verdict", "bert.yaml", "batch_per_gpu=8..4096") +
      report_line("mem_GB,9,GB"));
  REQUIRE(validation.cases.size() == 3);
  CHECK(validation.cases[0].of.figure == CaseFigure::within_memory);
  CHECK(validation.cases[1].of.figure == CaseFigure::out_of_memory);
  CHECK(predicted(validation.cases[1]) == 1);
  REQUIRE(validation.cases[1].predicted.ends.size() == 2);
  CHECK(validation.cases[1].predicted.ends[1].value == 0);
  CHECK(validation.cases[2].of.measured == 9e9);
  const MemoryVerdicts verdicts = verdicts_of(validation);
  CHECK(verdicts.ran == 1);
  CHECK(verdicts.accepted == 1);
  CHECK(verdicts.failed == 1);
  CHECK(verdicts.refused == 0);
}

TEST_CASE("rows without an experiment are left out with their reason, and lower the coverage") {
  const Reports reports;
  const Validation validation = reports.validated(
      report_line("tok_s,128000,tokens/s") +
      report_line("tok_s,9,tokens/s", "", "", "yes,cannot be said: LoRA") +
      report_line("tok_s,9,tokens/s", "") + report_line("tok_s,9,tokens/s", "bert.yaml", "", "no,") +
      report_line("tok_s,,tokens/s"));
  CHECK(validation.cases.size() == 1);
  CHECK(validation.excluded.at("cannot be said: LoRA") == 1);
  CHECK(validation.excluded.size() == 4);
  CHECK(errors_of(validation, Fit::software).coverage.value() == doctest::Approx(1.0 / 3));
}

TEST_CASE("a table without the column experiment is read, and each row says what to add") {
  const std::string text =
      "id,url,date,gpu,nodes,gpus,model,parameters,software,precision,layout,batch,metric,measured,unit,"
      "missing\n"
      "a,an issue,2024,A100,,8,GPT,1B,FSDP,bf16,FSDP,4,fits,OOM,verdict,\n";
  const auto rows = read_published_rows("mine.csv", text);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].report);
  CHECK(rows[0].gpus_total == 8);
  CHECK(rows[0].source == "an issue");
  CHECK(rows[0].value == 0);
  const Validation validation = validate_rows(testing::shipped_catalogue(), RowKind::reports,
                                              data_of(rows, MachineRules()), 1, {.fits = {Fit::software}});
  REQUIRE(validation.excluded.size() == 1);
  CHECK(validation.excluded.begin()->first.find("'experiment'") != std::string::npos);
}

TEST_CASE("what is wrong with a report is an error at its line") {
  const Reports reports;
  const Diagnostic missing = ::only_error([&] {
    (void)reports.validated(report_line("tok_s,9,tokens/s") +
                            report_line("tok_s,9,tokens/s", "none.yaml", "", "no,"));
  });
  CHECK(missing.line == 3);
  CHECK(missing.file.ends_with("mine.csv"));
  CHECK(missing.message.find("none.yaml") != std::string::npos);
  const auto wrong = ::errors_of([&] {
    (void)reports.rows(report_line("tok_s_gpu,9,tokens/s") + report_line("speed,9,tokens/s") +
                       report_line("tok_s,9,tokens/s", "bert.yaml", "batch_per_gpu=4"));
  });
  REQUIRE(wrong.size() == 3);
  CHECK(wrong[0].line == 2);
  CHECK(wrong[0].key_path == "unit");
  CHECK(wrong[1].line == 3);
  CHECK(wrong[2].key_path == "ranges");
  const Diagnostic too_high = ::only_error([&] { (void)reports.rows(report_line("mfu_pct,140,%")); });
  CHECK(too_high.key_path == "value");
  const Diagnostic twice = ::only_error([&] {
    (void)reports.rows(
        report_line("tok_s,9,tokens/s", "bert.yaml", "batch_per_gpu=4..8;batch_per_gpu=2..8", "partial,"));
  });
  CHECK(twice.key_path == "ranges");
  const auto unknown = ::errors_of([&] {
    (void)reports.validated(
        report_line("tok_s,9,tokens/s", "bert.yaml", "ranks=8..8;tp=1..1;model.bert.layers=1..2") +
        report_line("tok_s,9,tokens/s", "bert.yaml", "batch_per_gpus=4..8") +
        report_line("tok_s,9,tokens/s", "bert.yaml", "platform.node.nic=4..8"));
  });
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0].line == 3);
  CHECK(unknown[0].key_path == "ranges");
  CHECK(unknown[0].message.find("batch_per_gpus") != std::string::npos);
  CHECK(unknown[0].hint.find("batch_per_gpu") != std::string::npos);
  CHECK(unknown[1].line == 4);
  const auto errors_with = [](const std::string& names) {
    return ::errors_of([&] { (void)read_published_rows("mine.csv", names + "\n"); }).size();
  };
  CHECK(errors_with("gpu,gpus,model,metric,value,unit,experiment") == 0);
  CHECK(errors_with("gpu,gpus,model,value,unit,experiment") == 1);
}

}  // namespace
}  // namespace trainyard
