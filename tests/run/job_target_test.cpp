#include "experiment/job_target.hpp"

#include "errors_of.hpp"
#include "figure_of.hpp"
#include "run/job_phases.hpp"
#include "run/simulate.hpp"
#include "run/whole_job.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// Two boxes of eight V100, 16 x 256 = 4096 images a step.
constexpr const char* target_boxes = "resnet50_p3_16xlarge_x2";
constexpr double images_of_epoch = 1281167;
const Overrides::value_type to_target{"job.target", "75.9 % top-1"};

Run target_run(Overrides overrides, const char* experiment = target_boxes) {
  overrides.emplace_back("platform.node.power.overhead", "1 kW");
  return simulate(testing::shipped_experiment(experiment, overrides), {.fidelity = Fidelity::closed});
}

const JobPart* phase_in(const Run& run, JobPhase phase) {
  const auto found = std::ranges::find(run.job->parts, phase, &JobPart::phase);
  return found == run.job->parts.end() ? nullptr : &*found;
}

Diagnostic target_refusal(const Overrides& overrides, const char* experiment = target_boxes) {
  const auto errors = errors_of([&] { testing::shipped_experiment(experiment, overrides); });
  REQUIRE(errors.size() == 1);
  return errors.front();
}

bool has_target_note(const Run& run, const std::string& text) {
  return std::ranges::any_of(run.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a job to a target trains on the samples of the published runs at its batch") {
  const Run run = target_run({to_target});
  CHECK(run.pace.global_batch == 4096);
  CHECK(figure_of(run, "samples_to_target") == 51086534);  // MLPerf's reference point
  CHECK(figure_of(run, "updates_to_target") == 12473);     // 51,086,534 / 4,096 is 12,472.3
  for (const char* end : {"updates_to_target_low", "updates_to_target_high"})
    CHECK(figure_of(run, end) == std::floor(figure_of(run, end)));
  CHECK(figure_of(run, "epochs_to_target") == doctest::Approx(51086534.0 / images_of_epoch).epsilon(1e-12));
  REQUIRE(phase_in(run, JobPhase::training) != nullptr);
  const double training = phase_in(run, JobPhase::training)->time.si();
  CHECK(training == doctest::Approx(12473 * run.pace.time.si()).epsilon(1e-9));
  // every 4 of 39.9 epochs on 50,000 images: 13 batches of 256 on each of 16 GPUs
  const JobPart* const evaluation = phase_in(run, JobPhase::evaluation);
  REQUIRE(evaluation != nullptr);
  CHECK(evaluation->times == 10);
  CHECK(evaluation->time.si() ==
        doctest::Approx(10 * 13 * forward_pass(run.experiment, 256).time.si()).epsilon(1e-12));
  CHECK(figure_of(run, "time_to_target_s") ==
        doctest::Approx(training + evaluation->time.si()).epsilon(1e-12));
}

TEST_CASE("cost and energy to the target leave out the start of the job") {
  const Run run = target_run({to_target});
  const Run later = target_run({to_target, {"job.launch", "1 h"}});
  for (const char* const field : {"time_to_target_s", "cost_to_target_usd", "energy_to_target_j"})
    CHECK(figure_of(later, field) == doctest::Approx(figure_of(run, field)).epsilon(1e-12));
  CHECK(figure_of(later, "job_time_s") ==
        doctest::Approx(figure_of(later, "time_to_target_s") + 3600).epsilon(1e-12));
  CHECK(figure_of(later, "job_cost_usd") > figure_of(later, "cost_to_target_usd"));
  CHECK(figure_of(later, "job_energy_j") > figure_of(later, "energy_to_target_j"));
  CHECK(figure_of(run, "cost_to_target_usd") ==
        doctest::Approx(figure_of(run, "rent_usd_per_h") * figure_of(run, "time_to_target_s") / 3600)
            .epsilon(1e-12));
}

TEST_CASE("an evaluation of the job's own takes the place of the published one") {
  const Run run = target_run({to_target, {"job.evaluation", "{every: 1 epoch, samples: 50000}"}});
  // 39.875 epochs less half of four, at the end of an epoch
  CHECK(figure_of(run, "epochs_to_target") == doctest::Approx(38).epsilon(1e-12));
  CHECK(phase_in(run, JobPhase::evaluation)->times == 38);
  const Run steps = target_run({to_target, {"job.evaluation", "{every: 5000 steps, samples: 50000}"}});
  CHECK(figure_of(steps, "updates_to_target") == 15000);  // no rounding error adds one
  CHECK(phase_in(steps, JobPhase::evaluation)->times == 3);
}

TEST_CASE("larger batches need more samples") {
  const auto samples_on = [](const char* batch) {
    return target_run({to_target, {"batch_per_gpu", batch}, {"memory", "ignore"}}).job->target->samples;
  };
  CHECK(samples_on("512") > samples_on("256"));
}

TEST_CASE("the interval of the time has the errors of samples and of throughput, and 8 % beyond both ends") {
  const Run run = target_run({to_target});
  REQUIRE(run.expected_error);
  const double time = figure_of(run, "time_to_target_s");
  const double low = figure_of(run, "time_to_target_low_s");
  const double high = figure_of(run, "time_to_target_high_s");
  CHECK(low < time);
  CHECK(time < high);
  const double samples =
      std::log(figure_of(run, "samples_to_target_high") / figure_of(run, "samples_to_target_low"));
  const double speed = std::log((1 + run.expected_error->high) / (1 + run.expected_error->low));
  CHECK(std::log(high / low) ==
        doctest::Approx(std::hypot(samples, speed) + std::log(1.08 / 0.92)).epsilon(1e-9));
}

TEST_CASE("cost to the target has the interval of the time, energy a wider one with the error of the power") {
  const Run run = target_run({to_target});
  const double low = figure_of(run, "time_to_target_low_s") / figure_of(run, "time_to_target_s");
  const double high = figure_of(run, "time_to_target_high_s") / figure_of(run, "time_to_target_s");
  CHECK(low < 1);
  CHECK(high > 1);
  CHECK(figure_of(run, "cost_to_target_low_usd") / figure_of(run, "cost_to_target_usd") ==
        doctest::Approx(low).epsilon(1e-12));
  CHECK(figure_of(run, "cost_to_target_high_usd") / figure_of(run, "cost_to_target_usd") ==
        doctest::Approx(high).epsilon(1e-12));
  const double of_energy =
      std::log(figure_of(run, "energy_to_target_high_j") / figure_of(run, "energy_to_target_low_j"));
  CHECK(of_energy == doctest::Approx(std::hypot(std::log(high / low), std::log(1.3 / 0.7))).epsilon(1e-9));
}

TEST_CASE("the range of the samples says whether the published runs have such batches") {
  const auto range_of = [](const Overrides& more) {
    Overrides overrides{to_target};
    overrides.insert(overrides.end(), more.begin(), more.end());
    const Run run = target_run(overrides);
    const std::size_t at = index_of("samples_range");
    const std::string name = std::get<std::string>(figures()[at].of(run).value());
    // a row of a sweep has its number, which turns back into the name
    const SweepOf targets{.has_jobs = true, .has_targets = true};
    const std::vector<std::string> columns = sweep_columns(targets);
    const auto column = std::ranges::find(columns, "samples_range") - columns.begin();
    const double number = sweep_row(run, targets)[static_cast<std::size_t>(column)].value();
    CHECK(sweep_name("samples_range", number) == name);
    return name;
  };
  CHECK(range_of({}) == "measured");
  CHECK(range_of({{"batch_per_gpu", "64"}}) == "below");
  CHECK(range_of({{"accumulation", "20"}}) == "beyond");
  CHECK(sweep_name("ranks", 1).empty());
}

TEST_CASE("figures of a target are missing in a job with another length") {
  const Run run = target_run({{"job.epochs", "1"}});
  const Known<FigureValue> time = figures()[index_of("time_to_target_s")].of(run);
  CHECK_FALSE(time);
  CHECK(time.error().empty());
}

TEST_CASE("notes say where samples are from and what differs") {
  const Run run = target_run({to_target});
  CHECK(has_target_note(run, "MLPerf Training 2.0 to 4.0"));
  CHECK(has_target_note(run, "1,632 to 67,840"));
  CHECK(has_target_note(run, "recipe of lars"));
  CHECK_FALSE(has_target_note(run, "below the published"));
  CHECK(has_target_note(target_run({to_target, {"batch_per_gpu", "64"}}), "below the published"));
}

TEST_CASE("a batch beyond the published ones follows the law with a note, up to twice the largest") {
  const Overrides large{to_target, {"accumulation", "20"}};  // 81,920 images
  const Run run = target_run(large);
  CHECK(has_target_note(run, "beyond the published"));
  CHECK(figure_of(run, "samples_to_target") > 109983260);
  const Diagnostic error = target_refusal({to_target, {"accumulation", "40"}});
  CHECK(error.key_path == "job.target");
}

TEST_CASE("a target that is not known is an error at its key, with those that are") {
  const Diagnostic error = target_refusal({{"job.target", "80 % top-1"}});
  CHECK(error.key_path == "job.target");
  CHECK(error.hint.find("75.9 % top-1") != std::string::npos);
  CHECK(target_refusal({to_target, {"model", "vgg16"}}).key_path == "job.target");
  CHECK(target_refusal({to_target, {"job.epochs", "3"}}).key_path == "job.target");
}

TEST_CASE("updates that are not those of synchronous training have no known samples to a target") {
  CHECK(target_refusal({to_target, {"sync.kind", "parameter_server"}, {"sync.update", "async"}}).key_path ==
        "job.target");
}

TEST_CASE("BERT's target is for sequences of 512 tokens") {
  const Overrides target{{"job.target", "0.72 masked-LM accuracy"}, {"optimizer", "lamb"}};
  CHECK(target_refusal(target, "bert_large_dgx_a100").key_path == "job.target");
  Overrides long_ones = target;
  long_ones.emplace_back("model.bert.sequence_length", "512");
  long_ones.emplace_back("batch_per_gpu", "56");
  long_ones.emplace_back("memory", "ignore");
  const Run run = target_run(long_ones, "bert_large_dgx_a100");
  CHECK(run.pace.global_batch == 448);
  CHECK(figure_of(run, "samples_to_target") == 2414421);
  // every floor(0.05 (230.23 x 448 + 3,000,000) / 25,000) x 25,000 = 150,000 sequences
  CHECK(phase_in(run, JobPhase::evaluation)->times == std::ceil(2414421.0 / 150000));
}
