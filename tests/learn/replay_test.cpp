// How a replay applies gradients: copies, shards, local steps, learning-rate rules.
#include "learn/replay.hpp"

#include "learn/objective.hpp"
#include "order_logs.hpp"
#include "quadratic.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

/// Gradient w + 0, without noise: everything can be calculated by hand.
LearnSettings exact_quadratic(double base_rate, int dimensions = 1) {
  LearnSettings settings = quadratic_settings(base_rate);
  settings.model.noise = 0;
  settings.model.dimensions = dimensions;
  return settings;
}

/// The parameters after each update.
std::vector<std::vector<double>> replayed(const OrderLog& log, UpdateRule rule,
                                          const LearnSettings& settings) {
  const auto objective = make_objective(settings, nullptr, log.workers, 1, 0);
  Replay replay(log, rule, settings, *objective);
  std::vector<std::vector<double>> all;
  while (replay.upcoming() != nullptr) {
    replay.next();
    all.emplace_back(replay.parameters().begin(), replay.parameters().end());
  }
  return all;
}

ShardUpdate update(int version, std::size_t first, std::size_t last, std::size_t reads, int shard = 0) {
  return {Seconds(version), version, first, last, reads, shard};
}

}  // namespace

TEST_CASE("a gradient belongs to the copy that its worker read, however late it is used") {
  // Worker 1 computes its step 0 at version 0; worker 0 updates twice before that arrives.
  const OrderLog log{.workers = 2,
                     .shards = 1,
                     .reads = {{0, 0, 1}},
                     .uses = {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}},
                     .updates = {update(1, 0, 1, 0), update(2, 1, 2, 1), update(3, 2, 3, 1)}};
  const auto w = replayed(log, UpdateRule::async, exact_quadratic(0.1));
  CHECK(w[0][0] == doctest::Approx(0.9));
  CHECK(w[1][0] == doctest::Approx(0.81));
  CHECK(w[2][0] == doctest::Approx(0.71));
  LearnSettings settings = exact_quadratic(0.1);
  settings.rate.rule = RateRule::by_staleness;  // 1, 1 and 3 versions old
  CHECK(replayed(log, UpdateRule::async, settings)[2][0] == doctest::Approx(0.81 - 0.1 / 3));
  settings.rate.rule = RateRule::by_distance;  // the third moved by 0.19
  settings.rate.distance = 0.001;
  const double rate = 0.001 / (0.19 * 0.19);
  CHECK(replayed(log, UpdateRule::async, settings)[2][0] == doctest::Approx(0.81 - rate));
  settings.rate.distance = 1;  // above the base rate
  CHECK(replayed(log, UpdateRule::async, settings)[2][0] == doctest::Approx(0.71));
}

TEST_CASE("linear scaling gives every sample the same weight, whatever is averaged or summed") {
  LearnSettings settings = quadratic_settings(0.1);
  settings.rate = {.base = 0.01, .rule = RateRule::linear_scaling, .base_batch = 4};
  settings.batch = 8;
  const UpdateSettings rules[] = {
      {.rule = UpdateRule::sync, .workers = 4},
      {.rule = UpdateRule::k_sync, .workers = 4, .k = 2},
      {.rule = UpdateRule::async, .workers = 4},
      {.rule = UpdateRule::local_sgd, .workers = 4, .push_every = 3},
      {.rule = UpdateRule::downpour, .workers = 4, .push_every = 3, .fetch_every = 3},
  };
  for (const UpdateSettings& rule : rules) {
    CAPTURE(config::name_of(rule.rule));
    const OrderLog log = order_log(rule, exponential_steps(1), {.updates = 10});
    const auto objective = make_objective(settings, nullptr, rule.workers, 1, 0);
    Replay replay(log, rule.rule, settings, *objective);
    while (replay.upcoming() != nullptr) replay.next();
    const ReplayTotals& totals = replay.totals();
    // 0.01 / 4 for a sample, so 0.02 for a mini-batch of 8
    CHECK(totals.rate_sum / static_cast<double>(totals.batches) == doctest::Approx(0.02));
  }
}

TEST_CASE("a worker that reads again before its gradient is used has computed it before") {
  // Worker 0 finishes step 0, reads version 1 of worker 1 for its step 1; then both its gradients are used.
  const OrderLog log{.workers = 2,
                     .shards = 1,
                     .reads = {{0, 0, 1}},
                     .uses = {{1, 0, 1}, {0, 0, 1}, {0, 1, 1}},
                     .updates = {update(1, 0, 1, 0), update(2, 1, 3, 1)}};
  const auto w = replayed(log, UpdateRule::k_batch_async, exact_quadratic(0.1));
  CHECK(w[1][0] == doctest::Approx(0.9 - 0.1 * (1 + 0.9) / 2));
}

TEST_CASE("gradients of cancelled steps are not computed") {
  class Counting final : public Objective {
  public:
    [[nodiscard]] int parameters() const override { return 1; }
    [[nodiscard]] double values_per_sample() const override { return 0; }
    void start(int, std::span<double> w) const override { w[0] = 1; }
    double gradient(int, int step, std::span<const double> w, std::span<double> g) override {
      steps.push_back(step);
      g[0] = w[0];
      return 0;
    }
    LossEvaluation evaluate(std::span<const double>) override { return {}; }
    [[nodiscard]] std::optional<int> train_samples() const override { return {}; }
    [[nodiscard]] bool may_start_below_floor() const override { return true; }
    std::vector<int> steps;
  };
  const OrderLog log =
      order_log({.rule = UpdateRule::k_sync, .workers = 4, .k = 1}, exponential_steps(1), {.updates = 50});
  Counting counting;
  const LearnSettings settings = exact_quadratic(0.1);
  Replay replay(log, UpdateRule::k_sync, settings, counting);
  while (replay.upcoming() != nullptr) replay.next();
  CHECK(counting.steps.size() == 50);
  CHECK(replay.parameters()[0] == doctest::Approx(std::pow(0.9, 50)));
}

TEST_CASE("shards are parts of the parameters with versions of their own") {
  // Worker 0 reads shard 0 at version 1 and shard 1 at version 0.
  const OrderLog log{.workers = 2,
                     .shards = 2,
                     .reads = {{0, 0, 1}, {0, 1, 1}},
                     .uses = {{1, 0, 1}, {1, 0, 1}, {0, 1, 1}, {0, 1, 1}},
                     .updates = {update(1, 0, 1, 0, 0), update(1, 1, 2, 2, 1), update(2, 2, 3, 2, 0),
                                 update(2, 3, 4, 2, 1)}};
  LearnSettings settings = exact_quadratic(0.1, 5);
  const auto w = replayed(log, UpdateRule::async, settings);
  CHECK(w[0][1] == doctest::Approx(0.9));  // parameters 0 and 1 are shard 0, 2 to 4 shard 1
  CHECK(w[0][2] == 1);
  CHECK(w[1][2] == doctest::Approx(0.9));
  CHECK(w[3][1] == doctest::Approx(0.81));
  CHECK(w[3][2] == doctest::Approx(0.8));  // a gradient of 1, one version old
  settings.rate.rule = RateRule::by_staleness;
  CHECK(replayed(log, UpdateRule::async, settings)[3][1] == doctest::Approx(0.81));
  CHECK(replayed(log, UpdateRule::async, settings)[3][2] == doctest::Approx(0.85));
}

TEST_CASE("shards that are read and updated together learn what one shard learns, to the bit") {
  const UpdateSettings rule{.rule = UpdateRule::k_async, .workers = 4, .k = 2};
  LearnSettings settings = quadratic_settings(0.1);
  settings.model.dimensions = 7;
  settings.momentum = 0.5;
  for (const RateRule rate : {RateRule::fixed, RateRule::by_staleness, RateRule::adagrad}) {
    settings.rate.rule = rate;
    const auto one = replayed(order_log(rule, exponential_steps(1), {.updates = 40}), rule.rule, settings);
    const auto three =
        replayed(order_log(rule, exponential_steps(1), {.updates = 40}, 3), rule.rule, settings);
    CHECK(one.size() * 3 == three.size());
    CHECK(one.back() == three.back());
  }
}

TEST_CASE("local_sgd averages the parameters of workers that each went on alone") {
  LearnSettings settings = quadratic_settings(0.1);
  constexpr int steps = 4;
  const UpdateSettings rule{.rule = UpdateRule::local_sgd, .workers = 3, .push_every = steps};
  const auto averaged = replayed(order_log(rule, exponential_steps(1), {.updates = 2}), rule.rule, settings);
  const auto objective = make_objective(settings, nullptr, 3, 1, 0);
  double w = 1;
  for (int round = 0; round < 2; ++round) {
    double sum = 0;
    for (int worker = 0; worker < 3; ++worker) {
      double own = w;
      for (int step = round * steps; step < (round + 1) * steps; ++step) {
        double gradient = 0;
        objective->gradient(worker, step, {&own, 1}, {&gradient, 1});
        own -= 0.1 * gradient;
      }
      sum += own;
    }
    w = sum / 3;
    CHECK(averaged[static_cast<std::size_t>(round)][0] == doctest::Approx(w).epsilon(1e-13));
  }
}

TEST_CASE("downpour pushes the sum of gradients taken at copies that workers update between fetches") {
  // push every 2 steps, fetch every 3: the second push spans a fetch
  const OrderLog log{.workers = 1,
                     .shards = 1,
                     .reads = {{0, 0, 3}},
                     .uses = {{0, 0, 2}, {0, 2, 2}},
                     .updates = {update(1, 0, 1, 0), update(2, 1, 2, 1)}};
  const auto w = replayed(log, UpdateRule::downpour, exact_quadratic(0.1));
  CHECK(w[0][0] == doctest::Approx(1 - 0.1 * (1 + 0.9)));  // 0.81
  // step 2 at the local copy 0.81, step 3 at the fetched 0.81
  CHECK(w[1][0] == doctest::Approx(0.81 - 0.1 * (0.81 + 0.81)));
  const UpdateSettings rule{.rule = UpdateRule::downpour, .workers = 4, .push_every = 2, .fetch_every = 3};
  const auto long_run =
      replayed(order_log(rule, exponential_steps(1), {.updates = 400}), rule.rule, exact_quadratic(0.05));
  CHECK(std::abs(long_run.back()[0]) < 1e-3);
}

TEST_CASE("momentum repeats a part of the previous change") {
  const OrderLog log =
      order_log({.rule = UpdateRule::sync, .workers = 1}, exponential_steps(1), {.updates = 2});
  LearnSettings settings = exact_quadratic(0.1);
  settings.momentum = 0.5;
  const auto w = replayed(log, UpdateRule::sync, settings);
  CHECK(w[0][0] == doctest::Approx(0.9));
  CHECK(w[1][0] == doctest::Approx(0.9 - 0.5 * 0.1 - 0.09));
}

TEST_CASE("Adagrad divides the rate by the root of the sum of squared gradients") {
  const OrderLog log =
      order_log({.rule = UpdateRule::sync, .workers = 2}, exponential_steps(1), {.updates = 2});
  LearnSettings settings = exact_quadratic(0.1);
  settings.rate.rule = RateRule::adagrad;
  const auto w = replayed(log, UpdateRule::sync, settings);
  CHECK(w[0][0] == doctest::Approx(0.9));
  CHECK(w[1][0] == doctest::Approx(0.9 - 0.1 * 0.9 / std::sqrt(1 + 0.81)));
}

TEST_CASE("linear scaling multiplies the rate by the samples of an update over the base batch") {
  const OrderLog log =
      order_log({.rule = UpdateRule::sync, .workers = 4}, exponential_steps(1), {.updates = 1});
  LearnSettings settings = exact_quadratic(0.1);
  settings.rate.rule = RateRule::linear_scaling;
  settings.rate.base_batch = 8;
  settings.batch = 3;
  CHECK(replayed(log, UpdateRule::sync, settings)[0][0] == doctest::Approx(1 - 0.1 * 12 / 8));
}

TEST_CASE("an L2 penalty adds its multiple of the parameters to gradients") {
  const OrderLog log =
      order_log({.rule = UpdateRule::sync, .workers = 1}, exponential_steps(1), {.updates = 1});
  LearnSettings settings = exact_quadratic(0.1);
  settings.l2 = 0.5;
  CHECK(replayed(log, UpdateRule::sync, settings)[0][0] == doctest::Approx(1 - 0.1 * 1.5));
}

TEST_CASE("mean staleness is 1, P/K, 1 + (P - 1)/K and P, and async's is geometric for exponential steps") {
  constexpr int workers = 8;
#ifdef TRAINYARD_SANITIZED
  constexpr long long updates = 5'000;
#else
  constexpr long long updates = 100'000;
#endif
  const auto mean = [&](UpdateRule rule, int k, const StepTime& times) {
    const OrderLog log = order_log({.rule = rule, .workers = workers, .k = k}, times, {.updates = updates});
    const LearnSettings settings = quadratic_settings(0.01);
    const auto objective = make_objective(settings, nullptr, workers, 1, 0);
    Replay replay(log, rule, settings, *objective);
    while (replay.upcoming() != nullptr) replay.next();
    CHECK(replay.updates() == updates);
    return replay.totals().staleness_sum / static_cast<double>(replay.totals().uses);
  };
  const StepTime exponential = exponential_steps(1);
  CHECK(mean(UpdateRule::sync, 8, exponential) == 1);
  CHECK(mean(UpdateRule::k_sync, 4, exponential) == 1);
  CHECK(mean(UpdateRule::k_batch_sync, 4, exponential) == 1);
  CHECK(mean(UpdateRule::k_async, 4, exponential) == doctest::Approx(2).epsilon(0.02));
  CHECK(mean(UpdateRule::k_async, 2, exponential) == doctest::Approx(4).epsilon(0.02));
  CHECK(mean(UpdateRule::k_batch_async, 4, exponential) == doctest::Approx(2.75).epsilon(0.02));
  CHECK(mean(UpdateRule::k_batch_async, 4, shifted_exponential_steps(1)) ==
        doctest::Approx(2.75).epsilon(0.02));
  CHECK(mean(UpdateRule::async, 1, exponential) == doctest::Approx(8).epsilon(0.02));
}

TEST_CASE("local_sgd refuses what is defined for gradients only") {
  const config::Document document =
      config::parse("x.yaml", "learn: {rate: {rule: adagrad}, momentum: 0.9}\n");
  LearnSettings settings = quadratic_settings(0.1);
  settings.rate.rule = RateRule::adagrad;
  settings.momentum = 0.9;
  config::Problems problems(document);
  check_learning_rule(settings, UpdateRule::async, "learn", problems);
  problems.finish(nullptr);
  check_learning_rule(settings, UpdateRule::local_sgd, "learn", problems);
  CHECK_THROWS_AS(problems.finish(nullptr), InputError);
}

TEST_CASE("workers that send the largest part keep the rest for later") {
  // Two parameters, gradients equal to them: at first both are 1, and half of the values is one of them.
  OrderLog log{.workers = 1, .shards = 1, .reads = {}, .uses = {}, .updates = {}};
  for (int i = 0; i < 3; ++i) {
    if (i > 0) log.reads.push_back({0, 0, i});
    log.uses.push_back({0, i, 1});
    log.updates.push_back(update(i + 1, at(i), at(i) + 1, at(i)));
  }
  LearnSettings settings = exact_quadratic(0.1, 2);
  settings.sent = 0.5;
  const auto w = replayed(log, UpdateRule::sync, settings);
  CHECK(w[0] == std::vector<double>{0.9, 1});
  // then 0.9 of the first value against 1 + 1 of the second, of which 1 was kept
  CHECK(w[1][0] == doctest::Approx(0.9));
  CHECK(w[1][1] == doctest::Approx(0.8));
  // 0.9 + 0.9 of the first, 0.8 of the second
  CHECK(w[2][0] == doctest::Approx(0.72));
  CHECK(w[2][1] == doctest::Approx(0.8));
  settings.sent = 1;
  const auto all = replayed(log, UpdateRule::sync, settings);
  CHECK(all[2][0] == doctest::Approx(0.9 * 0.9 * 0.9));
}

TEST_CASE("workers that start differently average to the mean of their starts and their steps") {
  class Ramp final : public Objective {
  public:
    [[nodiscard]] int parameters() const override { return 1; }
    [[nodiscard]] double values_per_sample() const override { return 0; }
    void start(int worker, std::span<double> w) const override { w[0] = worker; }
    double gradient(int, int, std::span<const double> w, std::span<double> g) override {
      g[0] = w[0];
      return 0;
    }
    LossEvaluation evaluate(std::span<const double>) override { return {}; }
    [[nodiscard]] std::optional<int> train_samples() const override { return {}; }
    [[nodiscard]] bool may_start_below_floor() const override { return true; }
  };
  // starts 0 and 1, two steps each, one average
  const OrderLog log{.workers = 2,
                     .shards = 1,
                     .reads = {{0, 0, 0}, {1, 0, 0}},
                     .uses = {{0, 0, 2}, {1, 0, 2}},
                     .updates = {update(1, 0, 2, 2)}};
  LearnSettings settings = exact_quadratic(0.1);
  settings.starts = WorkerStarts::different;
  Ramp ramp;
  Replay replay(log, UpdateRule::local_sgd, settings, ramp);
  CHECK(replay.parameters()[0] == doctest::Approx(0.5));
  replay.next();
  CHECK(replay.parameters()[0] == doctest::Approx(0.9 * 0.9 / 2));
}
