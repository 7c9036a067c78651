// CANDLE NT3 on Theta against X. Wu et al. 2018, PyHPC at SC18, tables 2 and 4.
#include "learn/learn.hpp"
#include "run/expected_bounds.hpp"
#include "run/job_functions.hpp"
#include "run/simulate.hpp"
#include "run/whole_job.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

struct PublishedNt3 {
  int nodes;
  int epochs;
  double fit;                  ///< model.fit, in s
  std::optional<double> total  ///< of the job with one epoch for each node, in s
      = {};
};

/// Kept: several statements are about the same jobs, of which those on many nodes take long.
const WholeJob& nt3_on(int nodes, int epochs, Overrides set = {},
                       const std::string& experiment = "nt3_theta") {
  static std::map<std::pair<std::string, Overrides>, WholeJob> known;
  set.emplace_back("nodes", std::to_string(nodes));
  set.emplace_back("job.epochs", std::to_string(epochs));
  std::pair key{experiment, std::move(set)};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  const Run run = simulate(testing::shipped_experiment(experiment, key.second),
                           {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
  return known.emplace(std::move(key), *run.job).first->second;
}

const std::vector<PublishedNt3> more_nodes{{32, 1, 840, 1683}, {64, 1, 893, 1735}, {512, 1, 1028, 1916},
                                           {25, 16, 13001},    {50, 8, 6976},      {100, 4, 3593},
                                           {200, 2, 1927},     {400, 1, 1042}};

constexpr const char* hypothesis = "nt3_theta_recursive_doubling";

/// Mean of the errors of model.fit, and the largest error of it and of whole jobs.
struct Nt3Errors {
  double mean = 0, most = 0, most_of_totals = 0;
};

Nt3Errors errors_of_nt3(const std::string& experiment) {
  Nt3Errors errors;
  for (const PublishedNt3& row : more_nodes) {
    const WholeJob& job = nt3_on(row.nodes, row.epochs, {}, experiment);
    const double error = std::abs(time_of_fit(job).si() / row.fit - 1);
    errors.mean += error / static_cast<double>(more_nodes.size());
    errors.most = std::max(errors.most, error);
    if (row.total)
      errors.most_of_totals = std::max(errors.most_of_totals, std::abs(job.time.si() / *row.total - 1));
  }
  return errors;
}

}  // namespace

TEST_CASE(
    "NT3 on two nodes of Theta takes the published time, to which its scale, launch and reading are fitted") {
  for (const char* const experiment : {"nt3_theta", hypothesis}) {
    const WholeJob& job = nt3_on(2, 1, {}, experiment);
    CHECK(time_of_fit(job).si() == doctest::Approx(735).epsilon(0.002));
    CHECK(job.time.si() == doctest::Approx(1561).epsilon(0.002));
  }
}

TEST_CASE("without a hypothesis the growth of NT3 on 25 to 512 nodes of Theta is not explained") {
  const Nt3Errors errors = errors_of_nt3("nt3_theta");
  CHECK(errors.mean == doctest::Approx(0.162).epsilon(0.01));
  CHECK(errors.most == doctest::Approx(0.250).epsilon(0.01));
  // published: 40 %
  CHECK(time_of_fit(nt3_on(512, 1)) / time_of_fit(nt3_on(2, 1)) == doctest::Approx(1.06).epsilon(0.005));
}

TEST_CASE("recursive doubling after the backward pass, fitted to these rows, gives each within 6 %") {
  const Nt3Errors errors = errors_of_nt3(hypothesis);
  CHECK(errors.mean == doctest::Approx(0.021).epsilon(0.03));
  CHECK(errors.most < 0.06);
  CHECK(errors.most_of_totals < 0.06);
}

TEST_CASE("callbacks wait for the slowest reader: table 2, to which the spread is fitted") {
  const auto callbacks_on = [](int nodes) {
    const WholeJob& job = nt3_on(nodes, 1);
    return (time_of_fit(job) - time_of_epochs(job)).si();
  };
  CHECK(std::abs(callbacks_on(2) - 5.67) < 3.6);
  CHECK(std::abs(callbacks_on(32) - 27.49) < 1.7);
  CHECK(std::abs(callbacks_on(64) - 28.13) < 1.5);
  CHECK(std::abs(callbacks_on(512) - 25.67) < 1.9);
}

TEST_CASE(
    "cache mode is faster than flat mode, which takes DDR4 first, and node and processor draw less power, in "
    "a "
    "step and in the job: Wu et al., abstract") {
  const Overrides flat_mode{{"platform.node.processors.memory_mode", "flat"}};
  const WholeJob& cache = nt3_on(64, 1);
  const WholeJob& flat = nt3_on(64, 1, flat_mode);
  CHECK(cache.time < flat.time);
  CHECK(*cache.energy / cache.time < *flat.energy / flat.time);
  const auto power_of_training = [](const WholeJob& job) {
    return std::ranges::find(job.parts, JobPhase::training, &JobPart::phase)->power.value();
  };
  const JobPower in_cache = power_of_training(cache);
  const JobPower in_flat = power_of_training(flat);
  CHECK(in_cache.all() < in_flat.all());
  CHECK(in_cache.processors < in_flat.processors);
  CHECK(in_cache.memory < in_flat.memory);
}

TEST_CASE("the power of a job's phases has the sum of its energy, and functions that of its time") {
  const Run run = simulate(testing::shipped_experiment("nt3_theta", {{"nodes", "4"}, {"job.epochs", "3"}}),
                           {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
  Joules sum;
  for (const JobPart& part : run.job->parts) {
    CHECK(part.energy->si() == doctest::Approx((part.power->all() * part.time).si()).epsilon(1e-9));
    sum += part.power->all() * part.time;
  }
  CHECK(sum.si() == doctest::Approx(run.job->energy->si()).epsilon(1e-9));
  const std::vector<FunctionTime> functions = time_by_function(run);
  REQUIRE(functions.front().cumulative == run.job->time);
  Seconds own;
  for (const FunctionTime& function : functions) own += function.own;
  CHECK(own.si() == doctest::Approx(run.job->time.si()).epsilon(1e-9));
  const auto reading = std::ranges::find(functions, "pandas.read_csv", &FunctionTime::name);
  CHECK(reading->cumulative.si() == doctest::Approx(746.0 / 1.01).epsilon(1e-9));
  // of N ranks whose times lie evenly within 3.7 %, the slowest is (N-1)/(N+1) of that above the mean
  const auto wait = std::ranges::find(run.job->parts, JobPhase::negotiation, &JobPart::phase);
  CHECK(wait->time.si() == doctest::Approx(0.037 * 3 / 5 * 746.0 / 1.01).epsilon(1e-9));
  const auto callbacks = std::ranges::find(run.job->parts, JobPhase::callbacks, &JobPart::phase);
  CHECK(callbacks->times == 3);
  CHECK(callbacks->time.si() == doctest::Approx(3 * 4 * 5e-3).epsilon(0.05));  // cycles of Horovod
}

TEST_CASE("in training of random steps memory draws power as in training of equal ones") {
  const auto training = [](const Overrides& random) {
    Overrides set{{"nodes", "4"}, {"job.evaluation", "none"}};
    set.insert(set.end(), random.begin(), random.end());
    const Run run = simulate(testing::shipped_experiment("nt3_theta", set),
                             {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
    const auto part = std::ranges::find(run.job->parts, JobPhase::training, &JobPart::phase);
    return *part->power;
  };
  const JobPower steady = training({});
  const JobPower random =
      training({{"random.step", "{kind: normal, sd: 1e-6}"}, {"steps", "{measured: 4, repeats: 1}"}});
  CHECK(random.memory.si() == doctest::Approx(steady.memory.si()).epsilon(0.01));
  CHECK(random.processors.si() == doctest::Approx(steady.processors.si()).epsilon(0.01));
}

TEST_CASE("only jobs of Horovod on TensorFlow have their time by function") {
  const auto functions = [](const std::string& stack, Overrides set) {
    set.insert(set.end(), {{"stack", stack}, {"nodes", "1"}, {"job.epochs", "1"}});
    return time_by_function(simulate(testing::shipped_experiment("resnet50_dgx2", set), {}));
  };
  CHECK_FALSE(functions("horovod_0_20", {}).empty());
  CHECK(functions("tf2_mirrored", {}).empty());
  CHECK(functions("pytorch_ddp", {}).empty());
  CHECK(functions("horovod_0_20", {{"sync.kind", "parameter_server"}, {"steps", "{measured: 2, repeats: 1}"}})
            .empty());
}

TEST_CASE("the learner of NT3 is in force when asked, and ends with the job") {
  CHECK_FALSE(testing::shipped_experiment("nt3_theta").settings.learn.has_value());
  CHECK_FALSE(testing::shipped_experiment("nt3_theta", {{"learn.when", "asked"}}).settings.learn.has_value());
  // so that the resolved experiment learns, too
  CHECK(testing::shipped_experiment("nt3_theta", {{"learn.points", "4"}}).settings.learn->when ==
        LearnWhen::always);
  const auto updates = [](const Overrides& set) {
    return testing::shipped_experiment("nt3_theta", set).settings.learn->until.updates;
  };
  CHECK(updates({{"nodes", "400"}, {"learn.rate", "0.01"}}) == 56);
  // so that the resolved experiment that is written beside the result learns, too
  CHECK(testing::shipped_experiment("nt3_theta", {{"learn.rate", "0.01"}}).settings.learn->when ==
        LearnWhen::always);
  CHECK(updates({{"nodes", "25"}, {"job.epochs", "16"}, {"learn.when", "always"}}) == 896);
  CHECK(updates({{"batch_per_gpu", "40"}, {"learn.when", "always"}}) == 28);
  CHECK(updates({{"learn.until.updates", "5"}}) == 5);
}

#ifndef TRAINYARD_SANITIZED
TEST_CASE("a small network learns nothing of a set like NT3 in 112 updates and solves it in 448") {
  const auto learnt = [](int nodes, int epochs) {
    return simulate(testing::shipped_experiment("nt3_theta", {{"nodes", std::to_string(nodes)},
                                                              {"job.epochs", std::to_string(epochs)},
                                                              {"learn.points", "4"}}),
                    {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
  };
  const auto check = [&](int nodes, int epochs, double published, double within) {
    CAPTURE(nodes);
    const Run run = learnt(nodes, epochs);
    const Learning& learning = *run.learning;
    CHECK(std::abs(*learning.end_accuracy.median - published) < within);
    const auto bounds = expected_bounds(run, "accuracy_at_end");
    REQUIRE(bounds);
    CHECK(bounds->low <= published);
    CHECK(bounds->high >= published);
    CHECK(bounds->high <= 1 + 1e-12);
    double sum = 0;
    double squares = 0;
    for (const LearningRun& one : learning.repeats) sum += 1 - one.curve.back().test_error.value();
    for (const LearningRun& one : learning.repeats)
      squares += std::pow(1 - one.curve.back().test_error.value() - sum / 5, 2);
    REQUIRE(learning.repeats.size() == 5);
    const double of_samples = sum / 5 * (1 - sum / 5) / 280;
    // Student's t of 10 % with four degrees of freedom; accuracy_error of nt3_theta
    const double low = sum / 5 - 1.53320627 * std::sqrt(squares / 4 * 1.2 + of_samples + 0.026 * 0.026);
    CHECK(bounds->low == doctest::Approx(low).epsilon(1e-7));
  };
  check(400, 1, 0.5143, 0.06);
  check(200, 2, 0.5143, 0.06);
  check(100, 4, 0.7857, 0.06);
  check(50, 8, 0.9786, 0.02);
  check(25, 16, 0.9786, 0.02);
}
#endif
