// Curves, targets, floors and verdicts.
#include "learn/learn.hpp"

#include "order_logs.hpp"
#include "quadratic.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

const config::Catalogue shipped_files{{TRAINYARD_SOURCE_DIR}};
constexpr UpdateSettings async_of_8{.rule = UpdateRule::async, .workers = 8};

std::vector<OrderLog> logs(const UpdateSettings& rule, double time, int repeats) {
  std::vector<OrderLog> all;
  for (int i = 0; i < repeats; ++i)
    all.push_back(order_log(rule, exponential_steps(static_cast<std::uint64_t>(i)), {.time = time}));
  return all;
}

}  // namespace

TEST_CASE("a curve has its points at equal distances of time, with what was applied by then") {
  LearnSettings settings = quadratic_settings(0.1);
  settings.points = 10;
  settings.batch = 4;
  const OrderLog log = logs(async_of_8, 21, 1)[0];
  const LearningRun run = learn_once(log, UpdateRule::async, settings, nullptr, 1, 0, Seconds(20));
  REQUIRE(run.curve.size() == 11);
  for (std::size_t i = 0; i < run.curve.size(); ++i) {
    const LearningPoint& point = run.curve[i];
    CHECK(point.at.si() == doctest::Approx(2.0 * static_cast<double>(i)));
    const auto before =
        std::ranges::count_if(log.updates, [&](const ShardUpdate& u) { return u.at <= point.at; });
    CHECK(point.updates == before);
    CHECK(point.samples == 4 * before);
  }
  CHECK(run.curve[0].train_loss == 0.5);
  CHECK_FALSE(run.curve[0].rate_mean);
  CHECK(*run.curve[5].rate_mean == doctest::Approx(0.1));
  CHECK_FALSE(run.curve[5].epochs);
  CHECK(run.end == LearningEnd::run);
}

TEST_CASE("the effective rate of averaged gradients is the base rate over their number") {
  LearnSettings settings = quadratic_settings(0.1);
  const UpdateSettings rule{.rule = UpdateRule::k_sync, .workers = 8, .k = 4};
  const Learning learning = learn(logs(rule, 20, 2), rule.rule, settings, nullptr, 1);
  CHECK(*learning.rate_mean == doctest::Approx(0.025));
  CHECK(*learning.staleness_mean == 1);
  CHECK_FALSE(learning.has_target);
}

TEST_CASE("the floor with its standard error contains the exact one") {
  LearnSettings settings = quadratic_settings(0.1);
  settings.points = 4000;
  const Learning learning = learn(logs(async_of_8, 20000, 1), UpdateRule::async, settings, nullptr, 1);
  const Floor floor = *learning.repeats[0].loss_floor;
  CHECK(std::abs(floor.mean - async_floor(8, 0.1) / 2) < 3 * floor.standard_error);
  CHECK(floor.standard_error < 0.1 * floor.mean);
}

TEST_CASE("a rate beyond the limit is a verdict, in a quadratic and in softmax regression") {
  const Learning quadratic =
      learn(logs(async_of_8, 100, 3), UpdateRule::async, quadratic_settings(0.9), nullptr, 1);
  CHECK(quadratic.diverged == 3);
  CHECK(quadratic.repeats[0].end == LearningEnd::diverged);
  CHECK(quadratic.repeats[0].verdict == LearningVerdict::diverged);
  CHECK_FALSE(quadratic.repeats[0].reason.empty());
  CHECK_FALSE(quadratic.final_loss.median);
  for (const LearningPoint& point : quadratic.repeats[0].curve) CHECK(std::isfinite(point.train_loss));
  LearnSettings settings;
  settings.data.emplace().name = DataName::digits;
  settings.rate.base = 100;
  const LearningSets sets = load_samples(*settings.data, shipped_files, {}, 1);
  const Learning softmax = learn(logs(async_of_8, 30, 1), UpdateRule::async, settings, &sets, 1);
  CHECK(softmax.diverged == 0);
  CHECK(softmax.not_learnt == 1);  // cross-entropy grows no faster than the parameters
  CHECK(softmax.repeats[0].verdict == LearningVerdict::not_learnt);
  CHECK_FALSE(softmax.repeats[0].reason.empty());
  CHECK_FALSE(softmax.final_loss.median);
  settings.points = 4;  // too few for an average
  CHECK(learn(logs(async_of_8, 30, 1), UpdateRule::async, settings, &sets, 1).not_learnt == 1);
}

TEST_CASE("a loss that falls but misses its target is neither learnt nor diverged") {
  LearnSettings settings = quadratic_settings(0.1);
  settings.target.loss = 1e-9;
  const Learning missed = learn(logs(async_of_8, 20, 1), UpdateRule::async, settings, nullptr, 1);
  CHECK(missed.repeats[0].verdict == LearningVerdict::target_missed);
  CHECK(missed.diverged + missed.not_learnt == 0);
  CHECK(missed.final_loss.median);
  settings.target.loss = 0.3;
  const Learning reached = learn(logs(async_of_8, 20, 1), UpdateRule::async, settings, nullptr, 1);
  CHECK(reached.repeats[0].verdict == LearningVerdict::learnt);
}

TEST_CASE("a classifier that meets its target has learnt, though its loss ends above its start") {
  LearnSettings settings;
  settings.data.emplace().name = DataName::digits;
  settings.rate.base = 100;
  settings.target.test_error = 0.5;
  const LearningSets sets = load_samples(*settings.data, shipped_files, {}, 1);
  const Learning learning = learn(logs(async_of_8, 30, 1), UpdateRule::async, settings, &sets, 1);
  const LearningRun& run = learning.repeats[0];
  REQUIRE(run.target);
  CHECK(run.verdict == LearningVerdict::learnt);
  CHECK(run.loss_floor->mean > run.curve.front().train_loss);
}

TEST_CASE("one log may serve several repeats, which differ in their batches") {
  const auto one = logs(async_of_8, 20, 1);
  const std::vector<OrderLog> three{one[0], one[0], one[0]};
  const Learning shared = learn(one, UpdateRule::async, quadratic_settings(0.1), nullptr, 1, 3);
  const Learning copied = learn(three, UpdateRule::async, quadratic_settings(0.1), nullptr, 1);
  REQUIRE(shared.repeats.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(shared.repeats[i].curve.back().train_loss == copied.repeats[i].curve.back().train_loss);
  CHECK(shared.repeats[0].curve.back().train_loss != shared.repeats[1].curve.back().train_loss);
  CHECK(*shared.time.median == doctest::Approx(one[0].updates.back().at.si()));
}

TEST_CASE("a replay ends where the settings say, and targets are noted on the way") {
  LearnSettings settings;
  settings.data.emplace().name = DataName::digits;
  settings.rate.base = 0.2;
  const LearningSets sets = load_samples(*settings.data, shipped_files, {}, 1);
  const auto three = logs(async_of_8, 60, 3);
  settings.target.test_error = 0.1;
  const Learning whole = learn(three, UpdateRule::async, settings, &sets, 1);
  CHECK(whole.has_target);
  REQUIRE(whole.time_to_target_s.high);
  CHECK(*whole.time_to_target_s.low <= *whole.time_to_target_s.median);
  for (const LearningRun& run : whole.repeats) {
    CHECK(run.curve.size() == 101);
    REQUIRE(run.target);
    for (const LearningPoint& point : run.curve)
      CHECK((point.at >= run.target->at || *point.test_error > 0.1));
  }
  CHECK(*whole.error_floor.median < 0.1);
  CHECK(whole.parameters == 650);
  settings.target = {};
  settings.until.test_error = 0.1;
  const Learning stopped = learn(three, UpdateRule::async, settings, &sets, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(stopped.repeats[i].end == LearningEnd::test_error);
    CHECK(stopped.repeats[i].curve.back().at == whole.repeats[i].target->at);
    CHECK(stopped.repeats[i].target->updates == whole.repeats[i].target->updates);
  }
  settings.until = {.time = Seconds(7)};
  CHECK(learn(three, UpdateRule::async, settings, &sets, 1).repeats[0].end == LearningEnd::time);
  settings.until = {.updates = 33};
  const Learning few = learn(three, UpdateRule::async, settings, &sets, 1);
  for (const LearningRun& run : few.repeats) {
    CHECK(run.curve.back().updates == 33);
    CHECK(run.end == LearningEnd::updates);
  }
}

TEST_CASE("a repeat that does not reach the target counts as later than all others") {
  LearnSettings settings = quadratic_settings(0.1);
  settings.points = 200;
  settings.model.noise = 0;
  settings.target.loss = 0.01;
  auto some = logs(async_of_8, 30, 2);
  const Learning both = learn(some, UpdateRule::async, settings, nullptr, 1);
  CHECK(both.time_to_target_s.high);
  // a third repeat that makes a single update in all that time
  OrderLog lazy = some[0];
  lazy.updates.resize(1);
  lazy.updates.push_back(lazy.updates[0]);
  lazy.updates[1].at = Seconds(29.5);
  lazy.updates[1].version = 2;
  lazy.uses.push_back({lazy.uses[0].worker, 1, 1});
  lazy.uses = {lazy.uses[0], lazy.uses.back()};
  lazy.updates[1].first_use = 1;
  lazy.updates[1].last_use = 2;
  some.push_back(lazy);
  const Learning three = learn(some, UpdateRule::async, settings, nullptr, 1);
  CHECK(three.time_to_target_s.median);
  CHECK_FALSE(three.time_to_target_s.high);
}

TEST_CASE("the same logs, settings and seed give the same bits; another seed or repeat does not") {
  LearnSettings settings;
  settings.data.emplace().name = DataName::digits;
  settings.model = {.kind = LearnerKind::mlp, .hidden = std::vector{12}};
  const LearningSets sets = load_samples(*settings.data, shipped_files, {}, 1);
  const OrderLog log = logs(async_of_8, 10, 1)[0];
  const auto last = [&](std::uint64_t seed, std::uint64_t repeat) {
    return learn_once(log, UpdateRule::async, settings, &sets, seed, repeat).curve.back().train_loss;
  };
  CHECK(last(1, 0) == last(1, 0));
  CHECK(last(1, 0) != last(1, 1));
  CHECK(last(1, 0) != last(2, 0));
}

TEST_CASE("compilers, their options and the caches of processors do not change a bit") {
  struct Case {
    LearnerSettings model;
    double loss;
  };
  for (const Case& one :
       {Case{{.kind = LearnerKind::softmax}, 0x1.563d4f854752bp+0},
        Case{{.kind = LearnerKind::mlp, .hidden = std::vector{33, 17}, .activation = LearnerActivation::tanh},
             0x1.6c16376b7a11p+0},
        Case{{.kind = LearnerKind::conv1d,
        .hidden = std::vector{20},
        .filters = std::vector{5, 7},
        .kernels = std::vector{5, 3},
        .pools = std::vector{2, 3}},
             0x1.ffd60b5f8b1d2p+0}}) {
    LearnSettings settings;
    settings.model = one.model;
    settings.data.emplace().name = DataName::digits;
    settings.batch = 13;
    settings.rate.base = 0.1;
    settings.l2 = 0.001;
    const LearningSets sets = load_samples(*settings.data, shipped_files, {}, 1);
    const OrderLog log = logs(async_of_8, 10, 2)[1];  // of seed 1
    CHECK(learn_once(log, UpdateRule::async, settings, &sets, 1, 0).curve.back().train_loss == one.loss);
  }
}

TEST_CASE(
    "softmax regression on made classes comes near the least error, and never below it by more than chance") {
  LearnSettings settings;
  settings.data = LearningData{.name = DataName::gaussian, .samples = 12500, .classes = 5};
  settings.rate.base = 0.05;
  const LearningSets sets = load_samples(*settings.data, shipped_files, {}, 1);
  const Learning learning = learn(logs(async_of_8, 120, 1), UpdateRule::async, settings, &sets, 1);
  const double least = *learning.least_error;
  const double chance = std::sqrt(least * (1 - least) / *learning.test_samples);
  CHECK(least > 0.03);
  CHECK(*learning.error_floor.median > least - 3 * chance);
  CHECK(*learning.error_floor.median < 1.25 * least + 3 * chance);
}
