// Published training runs: what a row says, to which series it belongs, what is fitted to what, and which
// rows count. Rows and rules are made by hand, so that nothing here depends on how good predictions are.

#include "calibration/fit_stack.hpp"
#include "config/assumed_values.hpp"
#include "config/write.hpp"
#include "errors_of.hpp"
#include "published/assumptions.hpp"
#include "published/predict_cases.hpp"
#include "published/published_files.hpp"
#include "published/published_text.hpp"
#include "published/scores.hpp"
#include "published/solve_scale.hpp"
#include "published/training_rows.hpp"
#include "published/validation.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "sanitized.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdexcept>
#include <unistd.h>

using namespace trainyard;

namespace {

using Cells = std::map<std::string, std::string>;

/// AlexNet in fp32 on one V100 of a cube mesh at 1,000 images/s; `cells` replaces columns by name.
std::string run_line(const Cells& cells = {}) {
  Cells all{{"framework", "torch"},  {"model", "AlexNet"},     {"precision", "fp32"},
            {"batch_per_gpu", "64"}, {"metric", "throughput"}, {"value", "1000"},
            {"unit", "img/s"},       {"gpus_total", "1"},      {"source", "nobody known"}};
  for (const auto& [column, text] : cells) all[column] = text;
  return published_line(all);
}

/// The same on so many GPUs, eight to a node.
std::string run_line(int gpus, double value, Cells cells = {}) {
  cells["gpus_total"] = std::to_string(gpus);
  cells["nodes"] = std::to_string((gpus + 7) / 8);
  cells["value"] = fmt::format("{}", value);
  return run_line(cells);
}

const config::Catalogue& run_catalogue() {
  static const config::Catalogue catalogue{.roots = {TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

const MachineRules& own_machines() {
  static const MachineRules rules =
      load_machine_rules(config::parse("machines.yaml",
                                       "name: machines\nmachines:\n"
                                       "  - {when: {gpu: [V100]}, platform: dgx1v}\n"),
                         run_catalogue());
  return rules;
}

const RunRules& own_runs() {
  static const RunRules rules = load_run_rules(config::parse("own.yaml", R"(name: own
models:
  - {when: {model: [AlexNet]}, model: alexnet_tf}
  - {when: {model: [BERT]}, model: bert_base, optimizer: adam}
stacks:
  - {when: {framework: [torch]}, stack: pytorch_ddp}
excluded:
  - {when: {notes: [strange]}, reason: it is strange}
families:
  - {when: {notes: [unclaimed]}, family: apart, not_in_totals: nobody asks for it}
  - {when: {}, family: all}
outliers:
  - {when: {notes: [odd]}, reason: an odd run}
series: {options: [xla]}
)"),
                                               run_catalogue());
  return rules;
}

TrainingMeasurement measured_in(const Cells& cells) {
  return std::get<TrainingMeasurement>(training_measurement(rows_of(run_line(cells)).front()));
}

std::string no_measurement(const Cells& cells) {
  const auto read = training_measurement(rows_of(run_line(cells)).front());
  const auto* reason = std::get_if<std::string>(&read);
  return reason == nullptr ? "" : *reason;
}

SeriesKey series_with(const Cells& cells) {
  return series_of(rows_of(run_line(cells)).front(),
                   {.options = {"XLA", "real", "worker="}, .not_of_systems = {"NVLink"}});
}

Case own_run(const PublishedRow& row, const MachineRules& machines = own_machines()) {
  const auto data = data_of({row}, machines, own_runs());
  return std::get<Case>(case_of(data, data->rows.front()));
}

/// A run with its references on one GPU.
AskedCase fitted_to(const Case& of, std::vector<const Case*> one_gpu) {
  AskedCase asked{.of = &of};
  asked.references[Fit::one_gpu] = std::move(one_gpu);
  return asked;
}

std::vector<PredictedCase> predicted(const std::vector<AskedCase>& asked, bool equal_gpus = false) {
  return predict_cases(run_catalogue(), asked, 1,
                       {.equal_gpus = equal_gpus, .fits = fits_of(RowKind::training)});
}

Validation validated_training(const config::Catalogue& catalogue, std::shared_ptr<const PublishedData> data,
                              int parallel) {
  return validate_rows(catalogue, RowKind::training, std::move(data), parallel,
                       {.fits = fits_of(RowKind::training)});
}

struct OwnCase {
  explicit OwnCase(const std::string& lines, const std::string& others = {}, int parallel = 2)
      : validation(validated_training(run_catalogue(),
                                      data_of(rows_of(lines), own_machines(), own_runs(), rows_of(others)),
                                      parallel)) {}
  Validation validation;

  /// The run of a framework on so many GPUs.
  [[nodiscard]] const ScoredCase& run(const std::string& framework, int gpus) const {
    for (const ScoredCase& scored : validation.cases) {
      if (scored.of.row->framework == framework && scored.of.row->gpus_total == gpus) return scored;
    }
    throw std::out_of_range(framework);
  }
};

}  // namespace

TEST_CASE("a row's throughput is in samples per second of all GPUs, whatever it was printed in") {
  CHECK(measured_in({}).throughput == 1000.0);
  CHECK(measured_in({{"unit", "sequences/s"}}).throughput == 1000.0);
  CHECK(measured_in({{"unit", "tokens/s"}, {"seq_len", "128"}}).throughput == 1000.0 / 128);
  CHECK(measured_in({{"seq_len", "128"}}).sequence_length == 128);
  const Cells step{{"metric", "iteration_time_median"}, {"gpus_total", "4"}, {"batch_per_gpu", "32"}};
  Cells in_seconds = step;
  in_seconds.insert({{"value", "0.2"}, {"unit", "s"}});
  CHECK(measured_in(in_seconds).throughput.value() == doctest::Approx(32 * 4 / 0.2));
  Cells in_milliseconds = step;
  in_milliseconds.insert({{"value", "200"}, {"unit", "ms"}, {"notes", "grad_accum=3"}});
  CHECK(measured_in(in_milliseconds).throughput.value() == doctest::Approx(3 * 32 * 4 / 0.2));
  const TrainingMeasurement epoch =
      measured_in({{"metric", "time_per_epoch"}, {"value", "16"}, {"unit", "min"}});
  CHECK_FALSE(epoch.throughput);
  CHECK(epoch.epoch_time == 960.0);
}

TEST_CASE("a row that says too little is none, with the reason") {
  CHECK(no_measurement({{"unit", "tokens/s"}}).find("'tokens/s'") != std::string::npos);
  CHECK(no_measurement({{"metric", "iteration_time"}, {"unit", "%"}}) == not_a_throughput);
  CHECK(no_measurement({{"metric", "top1_accuracy"}}) == not_a_throughput);
  CHECK(no_measurement({{"value", "0"}}) == "no value above 0");
  CHECK(no_measurement({{"batch_per_gpu", "?"}}) == "no batch per GPU");
  CHECK(no_measurement({{"precision", "bf8"}}) == "unknown precision");
  CHECK(no_measurement({{"nodes", "2"}, {"gpus_total", "12"}}).starts_with("contradictory numbers of GPUs"));
  CHECK(no_measurement({{"gpus_per_node", "4"}, {"gpus_total", "8"}}).starts_with("contradictory numbers"));
}

TEST_CASE("micro-batches of a step are those of the notes, otherwise what the whole batch leaves over") {
  CHECK(measured_in({}).accumulation == 1);
  CHECK(measured_in({{"notes", "amp; grad_accum=16; eager"}}).accumulation == 16);
  const auto from_batches = [](const std::string& global, const std::string& notes) {
    return measured_in({{"gpus_total", "8"}, {"global_batch", global}, {"notes", notes}}).accumulation;
  };
  CHECK(from_batches("2048", "") == 4);
  CHECK(from_batches("2048", "grad_accum=2") == 2);
  CHECK(from_batches("512", "") == 1);
  CHECK(from_batches("700", "") == 1);
  CHECK(from_batches("about 2048", "") == 1);
}

TEST_CASE("rounding is half a unit of the last digit printed, as a part of the value") {
  CHECK(measured_in({{"value", "4"}}).rounding == doctest::Approx(0.125));
  CHECK(measured_in({{"value", "12.5"}}).rounding == doctest::Approx(0.05 / 12.5));
  CHECK(measured_in({{"value", "148.74"}}).rounding == doctest::Approx(0.005 / 148.74));
  CHECK(measured_in({{"value", "20"}}).rounding == doctest::Approx(0.025));
  CHECK(measured_in({{"value", "20.0"}}).rounding == doctest::Approx(0.0025));
  CHECK(measured_in({{"value", "2.0e1"}}).rounding == doctest::Approx(0.025));
  CHECK(measured_in({{"value", "2e-1"}}).rounding == doctest::Approx(0.25));
}

TEST_CASE("runs of one series differ in GPUs and micro-batches alone") {
  const SeriesKey one = series_with({{"system", "DGX-2"}});
  CHECK(one == series_with({{"system", "4x DGX-2"}, {"nodes", "4"}, {"gpus_total", "32"}}));
  CHECK(one == series_with({{"system", "DGX-2"}, {"global_batch", "512"}, {"notes", "grad_accum=8"}}));
  CHECK(series_with({{"system", "dgx2h_n32_ngc19.05"}}) == series_with({{"system", "dgx2h_ngc19.05"}}));
  const SeriesKey workstation = series_with({{"system", "1x RTX 8000 workstation"}});
  for (const std::string system : {"2x RTX 8000 NVLink workstation", "2x RTX 8000 workstation NVLink"})
    CHECK(series_with({{"system", system}}) == workstation);
  CHECK_FALSE(series_with({{"system", "2x RTX 8000 NVLink2 workstation"}}) == workstation);
  for (const std::string column : {"system", "framework", "gpu", "model", "precision", "batch_per_gpu"}) {
    CAPTURE(column);
    Cells other{{"system", "DGX-2"}};
    other[column] = "128";
    CHECK_FALSE(one == series_with(other));
  }
}

TEST_CASE("words that tell series apart are said, denied or not there") {
  const auto options = [](const std::string& framework, const std::string& notes) {
    return series_with({{"framework", framework}, {"notes", notes}}).options;
  };
  using Said = std::vector<std::string>;
  CHECK(options("torch", "") == Said{"", "", ""});
  CHECK(options("torch", "with XLA") == Said{"with", "", ""});
  CHECK(options("TensorFlow XLA", "") == Said{"with", "", ""});
  CHECK(options("torch", "without xla; real data") == Said{"without", "with", ""});
  CHECK(options("torch", "no xla") == options("torch", "w/o XLA"));
  CHECK(options("torch", "batch 128; worker=8; median") == Said{"", "", "=8"});
  CHECK(options("torch", "worker=48") == Said{"", "", "=48"});
  CHECK(options("torch", "worker=") == Said{"", "", "="});
}

TEST_CASE("children answer in order and what they throw comes through, that of the lowest first") {
  const auto numbers = in_children(5, 3, [](int i) {
    ::usleep(i == 0 ? 20'000 : 0);  // the first is not the first to end
    return packed({1.0 * i, 0.1});
  });
  REQUIRE(numbers.size() == 5);
  for (int i = 0; i < 5; ++i)
    CHECK(unpacked(numbers[static_cast<std::size_t>(i)]) == std::vector{1.0 * i, 0.1});
  CHECK(in_children(0, 2, [](int) { return std::string("?"); }).empty());
  CHECK(in_children(1, 0, [](int) { return std::string(200'000, 'x'); }).front().size() == 200'000);
  const auto first_failure = [](int i) -> std::string {
    if (i == 1) throw InputError("an input");
    if (i == 2) throw std::logic_error("a fault");
    return "fine";
  };
  const auto diagnostics = errors_of([&] { in_children(3, 2, first_failure); });
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics.front().message == "an input");
  CHECK_THROWS_WITH_AS(in_children(1, 1, [](int) -> std::string { throw JobImpossible("a job"); }), "a job",
                       JobImpossible);
  CHECK_THROWS_WITH_AS(
      in_children(2, 2, [](int i) -> std::string { return i == 1 ? (::_exit(7), "") : "fine"; }),
      doctest::Contains("exit code 7"), std::runtime_error);
}

TEST_CASE("a scale is found on straight pieces, and nothing where there is none") {
  const auto line = [](double x) { return 2 + 3 * x; };
  CHECK(solve_scale(11, line).value() == doctest::Approx(3).epsilon(1e-9));
  CHECK(solve_scale(2.3, line).value() == doctest::Approx(0.1).epsilon(1e-9));
  const auto pieces = [](double x) { return std::max(4 + 0.1 * x, 3 * x) + x; };
  for (const double x : {0.06, 0.7, 1.37, 1.39, 5.0, 19.0}) {
    CAPTURE(x);
    CHECK(solve_scale(pieces(x), pieces).value() == doctest::Approx(x).epsilon(1e-6));
  }
  CHECK_FALSE(solve_scale(1, line));    // below what no time for kernels takes
  CHECK_FALSE(solve_scale(100, line));  // 33 times
  CHECK_FALSE(solve_scale(5, [](double) { return 4.0; }));
  const auto waits_for_samples = [](double x) { return std::max(0.9 * x, 1.0); };
  CHECK_FALSE(solve_scale(0.97, waits_for_samples));  // no kernels are fast enough
  const auto ticks = [](double x) { return x < 1.5 ? 1.0 : 1.04; };
  CHECK(solve_scale(1.02, ticks).value() == doctest::Approx(1.5).epsilon(1e-5));
}

TEST_CASE("an assumed value is scaled with its unit, and what is no number is not") {
  CHECK(config::scaled_text("10 GB/s", 1.3) == "13 GB/s");
  CHECK(config::scaled_text("0.5", 0.5) == "0.25");
  CHECK_FALSE(config::scaled_text("true", 1.3));
  CHECK_FALSE(config::scaled_text("0 us", 1.3));  // 30 % of nothing
}

TEST_CASE("the assumptions of a run are those of its platform, GPU, stack and model") {
  const std::vector<PublishedRow> rows =
      read_published_rows("rows.csv", published_header() + published_line({{"metric", "throughput"},
                                                                           {"model", "ResNet-50 v1.5"},
                                                                           {"framework", "PyTorch 1.6 DDP"},
                                                                           {"precision", "fp32"},
                                                                           {"batch_per_gpu", "128"},
                                                                           {"value", "2900"},
                                                                           {"unit", "img/s"}}));
  const config::Catalogue shipped{.roots = {TRAINYARD_SOURCE_DIR}};
  const auto& [machines, rules] = rules_shipped_as("published");
  const Validation validation = validated_training(shipped, data_of(rows, machines, rules), 1);
  REQUIRE(validation.cases.size() == 1);
  CHECK(validation.cases[0].of.stack->stack == "pytorch_ddp");
  bool has_latency = false;
  bool has_share = false;
  for (const Assumption& assumption : assumptions_of(shipped, validation)) {
    for (const FileChange& place : assumption.places) {
      CHECK((place.name == "dgx1v" || place.name == "v100_sxm2_16gb" || place.name == "pytorch_ddp" ||
             place.name == "resnet50"));
      CHECK(place.key.find("power") == std::string::npos);
      has_share = has_share || (place.name == "v100_sxm2_16gb" && place.key == "kernel_share.value");
      has_latency = has_latency || (place.name == "dgx1v" && place.key.find("latency") != std::string::npos);
    }
  }
  CHECK(has_latency);
  CHECK(has_share);
}

TEST_CASE(
    "a rate of PCIe that is assumed decides errors between nodes without GPUDirect, a pooling rate does "
    "not" *
    doctest::skip(testing::is_sanitized)) {
  const auto line = [](int nodes, const std::string& gpus, const std::string& split,
                       const std::string& value) {
    return published_line({{"metric", "throughput"},
                           {"model", "VGG-16"},
                           {"framework", "PyTorch 1.6 DDP"},
                           {"interconnect_inter", "1x InfiniBand EDR 100Gb/s"},
                           {"precision", "fp32"},
                           {"batch_per_gpu", "32"},
                           {"nodes", std::to_string(nodes)},
                           {"gpus_total", gpus},
                           {"split", split},
                           {"value", value},
                           {"unit", "img/s"}});
  };
  const auto rows = rows_of(line(1, "1", "calibrate", "200") + line(2, "16", "validate", "2000"));
  const config::Catalogue shipped{.roots = {TRAINYARD_SOURCE_DIR}};
  const auto& [machines, rules] = rules_shipped_as("published");
  const Validation validation = validated_training(shipped, data_of(rows, machines, rules), 1);
  const std::vector<AssumptionEffect> effects = assumption_effects(shipped, validation, 1, Fit::one_gpu, {});
  const auto effect_of = [&](const std::string& key) -> const AssumptionEffect& {
    return *std::ranges::find_if(effects, [&](const AssumptionEffect& effect) {
      return effect.assumption.places.front().key.find(key) != std::string::npos;
    });
  };
  const AssumptionEffect& pcie = effect_of("pcie3");
  CHECK(pcie.rows == 1);
  CHECK(std::abs(pcie.less.value() - pcie.as_it_is.value()) > 0.02);
  CHECK(pcie.less != pcie.more);
  CHECK(effects.front().assumption.reason == pcie.assumption.reason);  // the largest comes first
}

TEST_CASE("a run is fitted with the scale that undoes by how much it was wrong") {
  const auto rows = rows_of(run_line(1, 1000) + run_line(4, 3000));
  const Case one = own_run(rows[0]);
  const double unfitted = solve_one_run(run_catalogue(), one).predicted;
  const auto faster = rows_of(run_line(1, 1.25 * unfitted) + run_line(4, 3000));
  const Case fitting = own_run(faster[0]);
  const Case many = own_run(faster[1]);
  const OneRun solved = solve_one_run(run_catalogue(), fitting);
  CHECK(solved.predicted == unfitted);
  CHECK(solved.scale.value() == doctest::Approx(1 / 1.25).epsilon(0.02));  // not all of a step are kernels
  const auto both = predicted({fitted_to(fitting, {&fitting}), fitted_to(many, {&fitting})});
  CHECK(*both[0].by_fit[Fit::nothing].value > 0);  // kernels alone, where `unfitted` has the shipped software
  CHECK(both[0].by_fit[Fit::software].reason == "no published one-GPU run to fit software to");
  CHECK(both[0].by_fit[Fit::one_gpu].value.value() == doctest::Approx(1.25 * unfitted).epsilon(1e-8));
  CHECK(both[1].by_fit[Fit::one_gpu].compute_scale == *solved.scale);
  CHECK(*both[1].by_fit[Fit::one_gpu].value > 3 * unfitted);
  CHECK(both[1].linear[Fit::one_gpu].value() == doctest::Approx(4 * 1.25 * unfitted).epsilon(1e-12));
  CHECK_FALSE(both[1].by_fit[Fit::one_node].value);
}

TEST_CASE("of several references the median counts, and those that cannot be matched are passed over") {
  const auto rows = rows_of(run_line(4, 3000) + run_line(1, 900) + run_line(1, 1000) + run_line(1, 1250) +
                            run_line(1, 1e6));
  std::vector<Case> runs;
  for (const PublishedRow& row : rows) runs.push_back(own_run(row));
  const auto scale_of = [&](std::size_t i) { return *solve_one_run(run_catalogue(), runs[i]).scale; };
  CHECK_FALSE(solve_one_run(run_catalogue(), runs[4]).scale);
  const auto fitted =
      predicted({fitted_to(runs[0], {&runs[1], &runs[3], &runs[2]}),
                 fitted_to(runs[0], {&runs[4], &runs[1], &runs[3]}), fitted_to(runs[0], {&runs[4]})});
  CHECK(fitted[0].by_fit[Fit::one_gpu].compute_scale == doctest::Approx(scale_of(2)).epsilon(1e-12));
  CHECK(fitted[1].by_fit[Fit::one_gpu].compute_scale ==
        doctest::Approx(std::sqrt(scale_of(1) * scale_of(3))).epsilon(1e-12));
  CHECK_FALSE(fitted[2].by_fit[Fit::one_gpu].value);
  CHECK_FALSE(fitted[2].by_fit[Fit::one_gpu].reason.empty());
}

TEST_CASE("where GPUs differ, many wait for the slowest and one for none") {
  const auto rows = rows_of(run_line(1, 40, {{"gpu", "K80"}}) + run_line(4, 150, {{"gpu", "K80"}}));
  const MachineRules k80 =
      load_machine_rules(config::parse("machines.yaml",
                                       "name: machines\nmachines:\n"
                                       "  - {when: {gpu: [K80]}, platform: p2_8xlarge}\n"),
                         run_catalogue());
  const Case one = own_run(rows[0], k80);
  const Case four = own_run(rows[1], k80);
  const std::vector<AskedCase> asked{fitted_to(one, {&one}), fitted_to(four, {&one})};
  const auto differ = predicted(asked);
  const auto alike = predicted(asked, true);
  CHECK(differ[0].by_fit[Fit::one_gpu].value == alike[0].by_fit[Fit::one_gpu].value);
  CHECK(*differ[1].by_fit[Fit::one_gpu].value < *alike[1].by_fit[Fit::one_gpu].value);
  CHECK(*differ[1].by_fit[Fit::one_gpu].value > 0.95 * *alike[1].by_fit[Fit::one_gpu].value);
  // Kernels alone have no GPU that is slower than another.
  CHECK(differ[1].by_fit[Fit::nothing].value == alike[1].by_fit[Fit::nothing].value);
}

TEST_CASE("steps of many micro-batches are as if each were simulated") {
  for (const std::string gpus : {"1", "8"}) {
    CAPTURE(gpus);
    const auto rows = rows_of(run_line({{"gpus_total", gpus}, {"notes", "grad_accum=6"}}));
    const Case run = own_run(rows.front());
    InputFiles files;
    const ResolvedExperiment resolved = inputs_of(run_catalogue(), run, run.machine, files);
    REQUIRE(resolved.settings.accumulation == 6);
    const double op_by_op = simulate(resolved, {.fidelity = Fidelity::closed}).pace.throughput;
    CHECK(solve_one_run(run_catalogue(), run).predicted == doctest::Approx(op_by_op).epsilon(1e-9));
  }
}

TEST_CASE("what a protocol fits to it does not score, and what is not there it does not ask for (R4)") {
  const OwnCase own(run_line(1, 1000) + run_line(2, 1900) + run_line(8, 7000) + run_line(16, 13000) +
                    run_line(8, 7000, {{"framework", "torch without one"}}) +
                    run_line(16, 13000, {{"framework", "torch without one"}}));
  const Validation& all = own.validation;
  REQUIRE(all.cases.size() == 6);
  const CaseErrors one_gpu = errors_of(all, Fit::one_gpu, {});
  CHECK(one_gpu.rows == 3);
  CHECK(one_gpu.coverage == 1.0);
  CHECK(one_gpu.coverage_of_all == 3.0 / 5);  // two have no run on one GPU in their series
  CHECK_FALSE(own.run("torch", 1).verdicts[Fit::one_gpu].excluded.empty());
  CHECK(own.run("torch without one", 8).verdicts[Fit::one_gpu].excluded.ends_with("(R4)"));
  CHECK_FALSE(own.run("torch", 8).counts(Fit::one_node));
  CHECK(own.run("torch", 16).counts(Fit::one_node));
  CHECK(own.run("torch without one", 16).counts(Fit::one_node));
  CHECK(errors_of(all, Fit::one_node, {}).rows == 2);
  CHECK(errors_of(all, Fit::nothing, {}).rows == 6);
  const ScoredCase& sixteen = own.run("torch", 16);
  CHECK(sixteen.error(Fit::one_gpu) ==
        doctest::Approx(*sixteen.predicted.by_fit[Fit::one_gpu].value / 13000 - 1));
  CHECK(sixteen.predicted.linear[Fit::one_node].value() == doctest::Approx(14000));
  CHECK(one_gpu.linear.value() == doctest::Approx((2000.0 / 1900 + 8000.0 / 7000 + 16000.0 / 13000) / 3 - 1));
}

TEST_CASE("without a run on one GPU or one node the smallest of the series is fitted to") {
  const OwnCase own(run_line(4, 3700, {{"batch_per_gpu", "32"}}) + run_line(4, 3600) + run_line(16, 13000));
  const ScoredCase& sixteen = own.run("torch", 16);
  CHECK(sixteen.counts(Fit::one_node));
  CHECK(sixteen.predicted.linear[Fit::one_node].value() == doctest::Approx(4 * std::sqrt(3700.0 * 3600)));
}

TEST_CASE("rows given come before those looked up") {
  const std::string target = run_line(8, 7000);
  const std::string shipped = run_line(1, 900, {{"split", "calibrate"}});
  const OwnCase own(target + run_line(1, 1000, {{"split", "calibrate"}}), shipped);
  CHECK(own.run("torch", 8).predicted.linear[Fit::one_gpu].value() == doctest::Approx(8000));
  const OwnCase alone(target, shipped);
  CHECK(alone.run("torch", 8).predicted.linear[Fit::one_gpu].value() == doctest::Approx(7200));
  const OwnCase not_clean(target, run_line(1, 900, {{"clean", "no"}}));
  CHECK_FALSE(not_clean.run("torch", 8).predicted.linear[Fit::one_gpu]);
  CHECK(own.run("torch", 8).predicted.by_fit[Fit::one_gpu].compute_scale <
        alone.run("torch", 8).predicted.by_fit[Fit::one_gpu].compute_scale);
}

TEST_CASE("what a series is fitted to is judged less strictly where it is rounded (R6)") {
  const Cells rounded{{"framework", "torch rounded"}, {"metric", "iteration_time"}, {"unit", "s"}};
  const OwnCase own(run_line(1, 0.1, rounded) + run_line(2, 0.1503, rounded) + run_line(1, 1000) +
                    run_line(2, 1900));
  CHECK(own.run("torch rounded", 2).verdicts[Fit::one_gpu].is_rounded);
  CHECK_FALSE(own.run("torch rounded", 2).verdicts[Fit::nothing].is_rounded);  // fits to nothing
  CHECK_FALSE(own.run("torch", 2).verdicts[Fit::one_gpu].is_rounded);
  const CaseErrors errors = errors_of(own.validation, Fit::one_gpu, {});
  CHECK(errors.rows == 2);
  CHECK(errors.worst.value() == std::abs(own.run("torch", 2).error(Fit::one_gpu)));
  CHECK(std::abs(own.run("torch rounded", 2).error(Fit::one_gpu)) > errors.worst.value());
}

TEST_CASE("outcomes that leave runs out are a collapse (R7) and more than linear scaling (R8)") {
  const Cells collapse{{"framework", "torch collapse"}};
  const Cells too_fast{{"framework", "torch too fast"}};
  const OwnCase own(run_line(1, 1000, collapse) + run_line(2, 1900, collapse) + run_line(4, 2300, collapse) +
                    run_line(8, 4500, collapse) + run_line(1, 1000, too_fast) + run_line(2, 1990, too_fast) +
                    run_line(4, 4210, too_fast) + run_line(1, 1000) + run_line(2, 2090));
  CHECK(own.run("torch collapse", 2).counts(Fit::one_gpu));
  for (const int gpus : {4, 8}) {
    CHECK(own.run("torch collapse", gpus).verdicts[Fit::one_gpu].outcome.ends_with("(R7)"));
    CHECK(own.run("torch collapse", gpus).verdicts[Fit::nothing].outcome.ends_with("(R7)"));
  }
  CHECK(own.run("torch too fast", 2).verdicts[Fit::one_gpu].outcome.ends_with("(R8)"));
  CHECK(own.run("torch too fast", 2).verdicts[Fit::nothing].outcome.empty());
  CHECK(own.run("torch", 2).counts(Fit::one_gpu));
  CHECK(errors_of(own.validation, Fit::one_gpu, {}).rows == 2);
  CHECK(errors_of(own.validation, Fit::one_gpu, {.leave_out_implausible = false}).rows == 6);
}

TEST_CASE("coverage counts throughputs that could not be predicted, and nothing else") {
  const OwnCase own(run_line(1, 1000) + run_line(2, 1900) + run_line(2, 1900, {{"model", "Foo-12"}}) +
                    run_line(1, 1000, {{"model", "Foo-12"}}) + run_line(2, 1900, {{"notes", "strange"}}) +
                    run_line(2, 1900, {{"metric", "top1_accuracy"}}) +
                    run_line(2, 1900, {{"split", "context"}}) + run_line(2, 1900, {{"clean", "no"}}) +
                    run_line(2, 1900, {{"clean", "partial"}, {"batch_per_gpu", ""}}) +
                    run_line(2, 1900, {{"notes", "unclaimed odd"}}));
  const Validation& all = own.validation;
  const CaseErrors one_gpu = errors_of(all, Fit::one_gpu, {});
  CHECK(one_gpu.rows == 1);
  CHECK(one_gpu.coverage.value() == doctest::Approx(1.0 / 3));
  CHECK(one_gpu.coverage_of_all == one_gpu.coverage);
  CHECK(errors_of(all, Fit::one_gpu, {.is_incomplete = true}).coverage == 0.0);
  CHECK(errors_of(all, Fit::one_gpu, {.family = "apart"}).rows == 1);
  CHECK(all.excluded.at("it is strange") == 1);
  CHECK(all.excluded.at("no layer table for the model") == 2);
  CHECK(all.excluded.at("no batch per GPU") == 1);
  std::size_t rows = all.cases.size();
  for (const auto& [reason, count] : all.excluded) rows += static_cast<std::size_t>(count);
  CHECK(rows == own.validation.data->rows.size());
  const ScoredCase& odd = all.cases.back();
  REQUIRE(odd.outlier != nullptr);
  CHECK(odd.outlier->reason == "an odd run");
}

TEST_CASE(
    "runs that no experiment could be made of count by linear scaling where their series can be scaled") {
  const Cells unknown{{"model", "Foo-12"}};
  const Cells no_batch{{"batch_per_gpu", ""}, {"notes", "strange"}};
  const OwnCase own(run_line(1, 1000) + run_line(2, 1900) + run_line(2, 1600, unknown) +
                        run_line(16, 10000, unknown) + run_line(2, 150, no_batch) +
                        run_line(1, 100, {{"batch_per_gpu", ""}, {"unit", "tokens/s"}}),
                    run_line(1, 1000, unknown) + run_line(8, 6000, unknown));
  const Validation& all = own.validation;
  REQUIRE(all.missed.size() == 4);
  const auto linear = [&](std::size_t i, Fit fit) { return all.missed[i].linear[fit]; };
  CHECK(linear(0, Fit::one_gpu).value() == doctest::Approx(2000.0 / 1600 - 1));
  CHECK_FALSE(linear(0, Fit::one_node));
  CHECK(linear(1, Fit::one_gpu).value() == doctest::Approx(0.6));
  CHECK(linear(1, Fit::one_node).value() == doctest::Approx(0.2));
  CHECK_FALSE(linear(2, Fit::one_gpu));  // its one-GPU row counts something else
  const double own_error = std::abs(own.run("torch", 2).error(Fit::one_gpu));
  const CaseErrors errors = errors_of(all, Fit::one_gpu, {});
  CHECK(errors.rows == 1);
  CHECK(errors.with_excluded.value() == doctest::Approx((own_error + 0.25 + 0.6) / 3));
}

TEST_CASE("a run taken out of a validation keeps its row and its rules") {
  const Case run = OwnCase(run_line(1, 1000)).validation.cases.front().of;
  CHECK(run.data.use_count() == 1);
  CHECK(run.row == &run.data->rows.front());
  CHECK(run.stack == &run.data->run_rules.stacks.front());
}

TEST_CASE("one process predicts what four do") {
  const std::string lines = run_line(1, 1000) + run_line(2, 1900) +
                            run_line(1, 1100, {{"batch_per_gpu", "128"}}) +
                            run_line(8, 7000, {{"batch_per_gpu", "128"}});
  const OwnCase alone(lines, {}, 1);
  const OwnCase four(lines, {}, 4);
  for (std::size_t i = 0; i < alone.validation.cases.size(); ++i) {
    for (std::size_t k = 0; k < fit_count; ++k) {
      const Prediction& one = alone.validation.cases[i].predicted.by_fit.values[k];
      const Prediction& other = four.validation.cases[i].predicted.by_fit.values[k];
      CHECK(one.value == other.value);
      CHECK(one.compute_scale == other.compute_scale);
    }
  }
}

TEST_CASE("systems that nobody here has seen meet the shipped rules by their columns") {
  const auto& [machines, rules] = rules_shipped_as("published");
  const auto experiment_of = [&](const Cells& cells) {
    const auto data = data_of(rows_of(run_line(cells)), machines, rules);
    const auto run = case_of(data, data->rows.front());
    if (const auto* reason = std::get_if<std::string>(&run)) return *reason;
    const auto& known = std::get<Case>(run);
    CHECK(first_match(rules.families, *known.row) != nullptr);
    InputFiles files;
    const ResolvedExperiment resolved = inputs_of(run_catalogue(), known, known.machine, files);
    return fmt::format("{} {} {} {}", known.machine->platform, resolved.model->name, resolved.stack.name,
                       resolved.cluster->ranks());
  };
  CHECK(experiment_of({{"system", "the box of an institute"},
                       {"gpu", "Tesla V100-SXM2-32GB"},
                       {"framework", "PyTorch 2.1 DDP"},
                       {"model", "ResNet-50 v1.5"},
                       {"gpus_total", "8"},
                       {"year", "2024"}}) == "dgx1v resnet50 pytorch_ddp 8");
  CHECK(experiment_of({{"system", "another"},
                       {"gpu", "A100-SXM4-80GB"},
                       {"interconnect_intra", "NVSwitch"},
                       {"framework", "Horovod 0.27"},
                       {"model", "BERT-large pretrain"},
                       {"seq_len", "512"},
                       {"precision", "amp"},
                       {"batch_per_gpu", "8"},
                       {"unit", "sequences/s"},
                       {"gpus_total", "4"},
                       {"year", "2024"}}) == "dgx_a100 bert_large horovod 4");
  CHECK(
      experiment_of({{"gpu", "MI250X"}, {"model", "ResNet-50"}, {"interconnect_intra", "Infinity Fabric"}}) ==
      "no rule matches the machine");
}

TEST_CASE("a stack is fitted to runs on one GPU that may be fitted to, and reads back as fitted") {
  const Cells calibrate{{"split", "calibrate"}};
  const auto rows =
      rows_of(run_line(1, 1000, calibrate) + run_line(1, 2000, calibrate) + run_line(8, 7000, calibrate) +
              run_line(1, 1000) + run_line(1, 1000, {{"split", "calibrate"}, {"clean", "no"}}));
  const StackFit fit =
      fit_stack(run_catalogue(), data_of(rows, own_machines(), own_runs()), "pytorch_ddp", 2);
  REQUIRE(fit.runs.size() == 2);
  CHECK(fit.stack.compute_scale.value ==
        doctest::Approx(std::sqrt(fit.runs[0].scale * fit.runs[1].scale)).epsilon(1e-12));
  CHECK(fit.excluded.size() == 3);  // on several GPUs, kept for validation, not clean
  for (const auto& [reason, rows_left_out] : fit.excluded) {
    CAPTURE(reason);
    CHECK(rows_left_out == 1);
  }
  const Stack again = load_stack(config::parse("pytorch_ddp.yaml", config::write(fit.stack)));
  CHECK(again.compute_scale.provenance == Provenance::fitted);
  CHECK(again.compute_scale.value == doctest::Approx(fit.stack.compute_scale.value).epsilon(1e-6));
  CHECK(again.compute_scale.source.find("rows.csv lines 2, 3") != std::string::npos);
  const auto refused = errors_of([&] {
    fit_stack(run_catalogue(), data_of(rows_of(run_line(8, 7000, calibrate)), own_machines(), own_runs()),
              "pytorch_ddp", 1);
  });
  REQUIRE(refused.size() == 1);
  CHECK(refused.front().message.find("pytorch_ddp") != std::string::npos);
}

TEST_CASE("keys that rules set must exist, in the experiment and in the files that it names") {
  const auto diagnostics = errors_of([&] {
    load_run_rules(config::parse("own.yaml", R"(name: own
models:
  - {when: {}, model: bert_base, set: {model.bert.sequence_length: "128", model.bert.sequence_lenght: "128"}}
stacks:
  - {when: {}, stack: pytorch_ddp, set: {sync.kind: all_reduce, sync.shard: "{servers}"}}
  - {when: {}, stack: pytorch_ddp, set: {stack.overlap: maybe}}
  - {when: {}, stack: tf_parameter_server, set: {platform.fabric.transprt: tcp}}
families: []
)"),
                   run_catalogue());
  });
  REQUIRE(diagnostics.size() == 4);
  CHECK(diagnostics[0].line == 3);
  CHECK(diagnostics[0].column == 103);
  CHECK(diagnostics[0].message.find("sequence_lenght") != std::string::npos);
  CHECK(diagnostics[1].line == 5);
  CHECK(diagnostics[1].message.find("shard") != std::string::npos);
  CHECK(diagnostics[2].line == 6);
  CHECK(diagnostics[3].line == 7);
  CHECK(diagnostics[3].message.find("transprt") != std::string::npos);
}

TEST_CASE("rules set keys to numbers that follow words of the row's model") {
  const RunRules rules = load_run_rules(config::parse("own.yaml", R"(name: own
models:
  - {when: {model: [VGG]}, model: vgg16, set: {model.vgg.classes: "{model classes=}", model.vgg.image_size: "{model image=|96}"}}
stacks:
  - {when: {}, stack: pytorch_ddp}
families: []
)"),
                                        run_catalogue());
  const auto run_of = [&](const std::string& model) {
    const auto data = data_of(rows_of(run_line({{"model", model}})), own_machines(), rules);
    return case_of(data, data->rows.front());
  };
  const auto resolved = [&](const std::string& model) {
    const Case run = std::get<Case>(run_of(model));
    InputFiles files;
    return inputs_of(run_catalogue(), run, run.machine, files);
  };
  const ResolvedExperiment given = resolved("VGG-16 image=160 classes=77");
  CHECK(given.model->layers.front().in_shape == std::vector<int>{3, 160, 160});
  CHECK(given.model->layers.back().out_shape.back() == 77);
  CHECK(resolved("VGG-16 classes=5").model->layers.front().in_shape == std::vector<int>{3, 96, 96});
  CHECK(std::get<std::string>(run_of("VGG-16 classes=many")) ==
        "no number follows 'classes=' in the model 'VGG-16 classes=many'");
}
