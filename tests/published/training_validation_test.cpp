// Validation with published training runs: the runs that each fit uses, and the rows that count.

#include "calibration/fit_stack.hpp"
#include "config/assumed_values.hpp"
#include "config/write.hpp"
#include "errors_of.hpp"
#include "published/assumptions.hpp"
#include "published/own_rules.hpp"
#include "published/predict_cases.hpp"
#include "published/published_files.hpp"
#include "published/scores.hpp"
#include "published/solve_scale.hpp"
#include "published/validation.hpp"
#include "run/simulate.hpp"
#include "sanitized.hpp"
#include "strategy/stack_keys.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <stdexcept>

using namespace trainyard;

namespace {

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
  return predict_cases(testing::shipped_catalogue(), asked, 1,
                       {.equal_gpus = equal_gpus, .fits = fits_of(RowKind::training)});
}

Validation validated_training(const config::Catalogue& catalogue, std::shared_ptr<const PublishedData> data,
                              int parallel) {
  return validate_rows(catalogue, RowKind::training, std::move(data), parallel,
                       {.fits = fits_of(RowKind::training)});
}

struct OwnCase {
  explicit OwnCase(const std::string& lines, const std::string& others = {}, int parallel = 2)
      : validation(validated_training(testing::shipped_catalogue(),
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
  const config::Catalogue& shipped = testing::shipped_catalogue();
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
  const config::Catalogue& shipped = testing::shipped_catalogue();
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
  const double unfitted = solve_one_run(testing::shipped_catalogue(), one).predicted;
  const auto faster = rows_of(run_line(1, 1.25 * unfitted) + run_line(4, 3000));
  const Case fitting = own_run(faster[0]);
  const Case many = own_run(faster[1]);
  const OneRun solved = solve_one_run(testing::shipped_catalogue(), fitting);
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
  const auto scale_of = [&](std::size_t i) {
    return *solve_one_run(testing::shipped_catalogue(), runs[i]).scale;
  };
  CHECK_FALSE(solve_one_run(testing::shipped_catalogue(), runs[4]).scale);
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
                         testing::shipped_catalogue());
  const Case one = own_run(rows[0], k80);
  const Case four = own_run(rows[1], k80);
  const std::vector<AskedCase> asked{fitted_to(one, {&one}), fitted_to(four, {&one})};
  const auto differ = predicted(asked);
  const auto alike = predicted(asked, true);
  CHECK(differ[0].by_fit[Fit::one_gpu].value == alike[0].by_fit[Fit::one_gpu].value);
  CHECK(*differ[1].by_fit[Fit::one_gpu].value < *alike[1].by_fit[Fit::one_gpu].value);
  CHECK(*differ[1].by_fit[Fit::one_gpu].value > 0.95 * *alike[1].by_fit[Fit::one_gpu].value);
  // Kernels alone have no GPU that is slower than another, unless a rule of the run says so.
  CHECK(differ[1].by_fit[Fit::nothing].value == alike[1].by_fit[Fit::nothing].value);
  const auto others = rows_of(run_line(4, 150, {{"gpu", "K80"}, {"framework", "waiting"}}));
  const Case by_rule = own_run(others.front(), k80);
  const auto waiting = predicted({AskedCase{.of = &by_rule}});
  const auto not_waiting = predicted({AskedCase{.of = &by_rule}}, true);
  CHECK(*waiting[0].by_fit[Fit::nothing].value < 0.999 * *not_waiting[0].by_fit[Fit::nothing].value);
}

TEST_CASE("steps of many micro-batches are as if each were simulated") {
  for (const std::string gpus : {"1", "8"}) {
    CAPTURE(gpus);
    const auto rows = rows_of(run_line({{"gpus_total", gpus}, {"notes", "grad_accum=6"}}));
    const Case run = own_run(rows.front());
    InputFiles files;
    const ResolvedExperiment resolved = inputs_of(testing::shipped_catalogue(), run, run.machine, files);
    REQUIRE(resolved.settings.accumulation == 6);
    const double op_by_op = simulate(resolved, {.fidelity = Fidelity::closed}).pace.throughput;
    CHECK(solve_one_run(testing::shipped_catalogue(), run).predicted ==
          doctest::Approx(op_by_op).epsilon(1e-9));
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

TEST_CASE("a stack is fitted to runs on one GPU that may be fitted to, and reads back as fitted") {
  const Cells calibrate{{"split", "calibrate"}};
  const auto rows =
      rows_of(run_line(1, 1000, calibrate) + run_line(1, 2000, calibrate) + run_line(8, 7000, calibrate) +
              run_line(1, 1000) + run_line(1, 1000, {{"split", "calibrate"}, {"clean", "no"}}));
  const StackFit fit =
      fit_stack(testing::shipped_catalogue(), data_of(rows, own_machines(), own_runs()), "pytorch_ddp", 2);
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
  const Diagnostic refused = only_error([&] {
    fit_stack(testing::shipped_catalogue(),
              data_of(rows_of(run_line(8, 7000, calibrate)), own_machines(), own_runs()), "pytorch_ddp", 1);
  });
  CHECK(refused.message.find("pytorch_ddp") != std::string::npos);
}
