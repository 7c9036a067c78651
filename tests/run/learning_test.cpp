// Engine, order log and replay together: closed forms of a noisy quadratic, and digits under several rules.

#include "run/learning.hpp"

#include "learn/adaptive_k.hpp"
#include "learn/samples.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

constexpr int workers = 8;
#ifdef TRAINYARD_SANITIZED
constexpr std::int64_t updates_of_quadratic = 2'000;
constexpr double tolerance_of_floor = 0.15;
constexpr int repeats_of_digits = 3;
#else
constexpr std::int64_t updates_of_quadratic = 12'000;
constexpr double tolerance_of_floor = 0.05;
constexpr int repeats_of_digits = 5;
#endif

/// The order of eight workers whose steps take an exponential time with mean 1 s, up to a date or a version.
OrderLog order_of(const UpdateSettings& settings, int repeat, Seconds until, std::int64_t updates = 0) {
  std::vector<int> nodes(workers);
  std::iota(nodes.begin(), nodes.end(), 0);
  const random::Distribution factor{
      .kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
  StepTimes times({Seconds{1}}, nodes,
                  {.seed = 1, .op = {}, .step = factor, .node = {}, .slow = {}, .pauses = {}}, repeat);
  OrderLog log;
  run_without_network(
      settings, times,
      {.log = {.take = [&](OrderLog whole) { log = std::move(whole); }, .until = until, .updates = updates}});
  return log;
}

LearnSettings quadratic(int dimensions) {
  LearnSettings settings;
  settings.model.kind = LearnerKind::quadratic;
  settings.model.dimensions = dimensions;
  settings.rate.base = 0.1;
  settings.points = 1500;
  return settings;
}

LearnSettings digits(double rate, RateRule rule = RateRule::fixed) {
  LearnSettings settings;
  settings.data = LearningData{.name = DataName::digits, .label_noise = 0.1};
  settings.batch = 8;
  settings.rate = {.base = rate, .rule = rule};
  settings.until.time = Seconds{80};
  settings.points = 80;
  return settings;
}

/// The medians of the training loss after 10, 20 and 80 mean step times.
struct Losses {
  double at_10, at_20, at_80;
};

Losses learn_digits(const UpdateSettings& rule, const LearnSettings& settings, const LearningSets& sets) {
  std::vector<OrderLog> logs;
  for (int repeat = 0; repeat < repeats_of_digits; ++repeat)
    logs.push_back(order_of(rule, repeat, Seconds{80}));
  const Learning learning = learn(logs, rule.rule, settings, &sets, 1);
  const std::vector<LearningRow> rows = learning_rows(learning);
  REQUIRE(rows.size() == 81);
  return {*rows[10].loss.median, *rows[20].loss.median, *rows[80].loss.median};
}

}  // namespace

TEST_CASE("in the engine's order a noisy quadratic has the floors of its recursions") {
  struct Row {
    UpdateSettings rule;
    double floor;  ///< of E[w^2]
  };
  const Row rows[] = {
      {{.rule = UpdateRule::sync, .workers = workers}, 0.00657895},
      {{.rule = UpdateRule::k_sync, .workers = workers, .k = 4}, 0.01315789},
      {{.rule = UpdateRule::k_batch_sync, .workers = workers, .k = 4}, 0.01315789},
      {{.rule = UpdateRule::k_async, .workers = workers, .k = 4}, 0.01440988},
      {{.rule = UpdateRule::k_async, .workers = workers, .k = 2}, 0.03389185},
      {{.rule = UpdateRule::k_batch_async, .workers = workers, .k = 4}, 0.015427},
      {{.rule = UpdateRule::async, .workers = workers}, 0.08910891},
      {{.rule = UpdateRule::local_sgd, .workers = workers, .push_every = 4}, 0.00657895},
  };
  constexpr int dimensions = 60;
  for (const Row& row : rows) {
    CAPTURE(config::name_of(row.rule.rule));
    CAPTURE(row.rule.k);
    const OrderLog log = order_of(row.rule, 0, {}, updates_of_quadratic);
    const LearningRun run = learn_once(log, row.rule.rule, quadratic(dimensions), nullptr, 1, 0);
    REQUIRE(run.loss_floor);
    CHECK(2 * run.loss_floor->mean / dimensions == doctest::Approx(row.floor).epsilon(tolerance_of_floor));
  }
}

TEST_CASE("digits: async learns faster than sync and ends higher; stale gradients need a smaller rate") {
  const LearningSets sets = load_samples(*digits(0.5).data, {{TRAINYARD_SOURCE_DIR}}, {}, 1);
  const UpdateSettings sync_rule{.rule = UpdateRule::sync, .workers = workers};
  const UpdateSettings async_rule{.rule = UpdateRule::async, .workers = workers};
  const Losses sync = learn_digits(sync_rule, digits(0.5), sets);
  const Losses async = learn_digits(async_rule, digits(0.5), sets);
  const Losses by_staleness = learn_digits(async_rule, digits(0.5, RateRule::by_staleness), sets);
  const Losses k_async =
      learn_digits({.rule = UpdateRule::k_async, .workers = workers, .k = 4}, digits(0.5), sets);
  // an independent replay of six seeds
  CHECK(sync.at_10 == doctest::Approx(2.07).epsilon(0.05));
  CHECK(sync.at_20 == doctest::Approx(1.83).epsilon(0.05));
  CHECK(sync.at_80 == doctest::Approx(1.14).epsilon(0.05));
  CHECK(k_async.at_20 == doctest::Approx(1.13).epsilon(0.08));
  CHECK(k_async.at_80 == doctest::Approx(0.754).epsilon(0.08));
  CHECK(by_staleness.at_80 == doctest::Approx(0.721).epsilon(0.08));
  CHECK(async.at_20 < sync.at_20 / 1.5);
  CHECK(async.at_80 > by_staleness.at_80);
  CHECK(async.at_80 > k_async.at_80);
}

TEST_CASE("a repeat that ended at its goal keeps its last values in the medians") {
  const auto point = [](double at, double loss) {
    return LearningPoint{.at = Seconds{at}, .updates = static_cast<long long>(at), .train_loss = loss};
  };
  Learning learning;
  learning.repeats.resize(5);
  learning.repeats[0].curve = {point(0, 5), point(1, 1)};
  learning.repeats[1].curve = {point(0, 5), point(1, 1)};
  learning.repeats[2].curve = {point(0, 5), point(1, 4), point(2, 1)};
  learning.repeats[3].curve = {point(0, 5), point(1, 4), point(2, 3), point(3, 2)};
  learning.repeats[4].curve = {point(0, 5)};
  learning.repeats[4].verdict = LearningVerdict::diverged;
  const std::vector<LearningRow> rows = learning_rows(learning);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].ended == 0);
  CHECK(*rows[1].loss.median == 4);
  // not 3, the only loss that is still measured
  CHECK(*rows[3].loss.median == 1);
  CHECK(*rows[3].loss.high == 2);
  CHECK(rows[3].at == Seconds{3});
  CHECK(rows[3].ended == 3);
  CHECK(ended_in_words(learning, rows).find("3 of 5") != std::string::npos);
  learning.repeats.resize(1);
  CHECK(ended_in_words(learning, learning_rows(learning)).empty());
}

TEST_CASE("a job in step has an update with every worker's gradient after each step") {
  LearnSettings settings;
  settings.until.updates = 5;
  const OrderLog log = order_in_step(3, Seconds{2}, settings, {});
  REQUIRE(log.updates.size() == 5);
  CHECK(log.updates.back().at == Seconds{10});
  CHECK(log.updates.back().version == 5);
  CHECK(log.reads.size() == 15);
  CHECK(log.uses.size() == 15);
  settings.until = {.time = Seconds{7}};
  CHECK(order_in_step(3, Seconds{2}, settings, {}).updates.size() == 3);
  CHECK(order_in_step(3, Seconds{2}, {}, {.warmup = 20, .measured = 100}).updates.size() == 120);
  settings.until = {.time = Seconds{1e12}};
  CHECK_THROWS_AS(order_in_step(3, Seconds{2}, settings, {}), InputError);
}

namespace {

/// The order of workers whose k grows, and the k of each update.
OrderLog growing_order(const UpdateSettings& rule, const LearnSettings& settings, const LearningSets* sets,
                       int repeat, Seconds until) {
  std::vector<int> nodes(workers);
  std::iota(nodes.begin(), nodes.end(), 0);
  const random::Distribution factor{
      .kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
  StepTimes times({Seconds{1}}, nodes,
                  {.seed = 1, .op = {}, .step = factor, .node = {}, .slow = {}, .pauses = {}}, repeat);
  OrderLog log;
  AdaptiveK adaptive(rule, settings, sets, 1);
  run_without_network(
      rule, times,
      {.log = {.take = [&](OrderLog whole) { log = std::move(whole); }, .until = until},
       .choose_k = [&](int of, const OrderLog& so_far) { return adaptive.after_update(of, so_far); },
       .repeat = repeat});
  return log;
}

std::size_t gradients_of(const ShardUpdate& update) { return update.last_use - update.first_use; }

}  // namespace

TEST_CASE("adaptive k grows while the engine runs, is as early as the best fixed k and ends as low") {
  const LearningSets sets = load_samples(*digits(0.5).data, {{TRAINYARD_SOURCE_DIR}}, {}, 1);
  LearnSettings settings = digits(0.5);
  settings.target.loss = 0.8;
  settings.points = 160;
  std::vector<OrderLog> logs;
  for (int repeat = 0; repeat < repeats_of_digits; ++repeat) {
    const UpdateSettings rule{.rule = UpdateRule::k_async,
                              .workers = workers,
                              .k = 1,
                              .growth = KGrowth{.every = 10, .most = workers}};
    logs.push_back(growing_order(rule, settings, &sets, repeat, Seconds{80}));
    const auto& updates = logs.back().updates;
    for (std::size_t i = 1; i < updates.size(); ++i)
      CHECK(gradients_of(updates[i]) >= gradients_of(updates[i - 1]));
    CHECK(gradients_of(updates.front()) == 1);
    CHECK(gradients_of(updates.back()) > 1);
  }
  const auto learnt = [&](const std::vector<OrderLog>& of) {
    const Learning learning = learn(of, UpdateRule::k_async, settings, &sets, 1);
    constexpr double never = 1e9;
    return std::pair(learning.time_to_target_s.median.value_or(never),
                     learning.final_loss.median.value_or(never));
  };
  const auto [adaptive_time, adaptive_loss] = learnt(logs);
  std::vector<double> times, losses;
  for (const int k : {1, 2, 3, 4, 8}) {
    std::vector<OrderLog> fixed;
    for (int repeat = 0; repeat < repeats_of_digits; ++repeat)
      fixed.push_back(
          order_of({.rule = UpdateRule::k_async, .workers = workers, .k = k}, repeat, Seconds{80}));
    const auto [time, loss] = learnt(fixed);
    times.push_back(time);
    losses.push_back(loss);
  }
  // the fastest fixed k is not the one that ends lowest
  CHECK(adaptive_time < 1.1 * std::ranges::min(times));
  CHECK(adaptive_loss < 1.05 * std::ranges::min(losses));
  CHECK(adaptive_loss < losses.front());
}

namespace {

/// The last point of a made set in the shape of NT3 on so many nodes of Theta, whose 400 epochs of 56 steps
/// are divided by the nodes.
LearningPoint nt3_on(int nodes, const LearningRate& rate, const LearningSets& sets, LearnSettings settings) {
  constexpr int steps_of_epoch = 56;
  constexpr int epochs = 400;
  settings.rate = rate;
  settings.until.updates = steps_of_epoch * epochs / nodes;
  const OrderLog log = order_in_step(nodes, Seconds{1}, settings, {});
  return learn_once(log, UpdateRule::sync, settings, &sets, 1, 0).curve.back();
}

}  // namespace

TEST_CASE(
    "a set like NT3: at one rate fewer updates learn less; a rate that grows with the nodes makes up for "
    "it") {
  LearnSettings settings;
#ifdef TRAINYARD_SANITIZED
  settings.model = {.kind = LearnerKind::mlp, .hidden = std::vector{4}};
  settings.data = LearningData{.name = DataName::nt3_like, .features = 40, .separation = 0.906};
#else
  settings.model = {.kind = LearnerKind::mlp, .hidden = std::vector{20}};
  settings.data = LearningData{.name = DataName::nt3_like, .features = 200, .separation = 0.906};
#endif
  settings.data_per_worker = DataPerWorker::replicated;
  settings.batch = 20;
  settings.points = 4;
  const LearningSets sets = load_samples(*settings.data, {{TRAINYARD_SOURCE_DIR}}, {}, 1);
  CHECK(*sets.least_error == doctest::Approx(6.0 / 280).epsilon(0.01));  // of the published validation
  double last_error = 1;
  double last_loss = 1e9;
  for (const int nodes : {400, 100, 25}) {
    CAPTURE(nodes);
    const LearningPoint end = nt3_on(nodes, {.base = 0.001}, sets, settings);
    CHECK(*end.test_error < last_error);
    CHECK(end.train_loss < last_loss);
    last_error = *end.test_error;
    last_loss = end.train_loss;
  }
  const LearningRate increased{.base = 0.001, .rule = RateRule::linear_scaling, .base_batch = 20};
  const LearningPoint most = nt3_on(400, increased, sets, settings);
  const LearningPoint least = nt3_on(25, increased, sets, settings);
  CHECK(most.train_loss == doctest::Approx(least.train_loss).epsilon(0.05));
}

#ifndef TRAINYARD_SANITIZED
TEST_CASE("workers that started differently and average once are as bad as chance, each alone is good") {
  const auto error_with = [](const Overrides& set) {
    const Run run = simulate(testing::shipped_experiment("digits_averaged_once", set), {});
    return 1 - *run.learning->end_accuracy.median;
  };
  CHECK(error_with({}) > 0.8);
  CHECK(error_with({{"learn.starts", "same"}}) < 0.1);
  CHECK(error_with({{"gpus", "1"}}) < 0.1);
}
#endif
