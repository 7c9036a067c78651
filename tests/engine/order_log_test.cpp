// The order log of runs without a network, against the engine's own record and against closed forms.

#include "engine/order_log_cases.hpp"
#include "engine/training.hpp"
#include "every_rule.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

#ifdef TRAINYARD_SANITIZED
constexpr std::int64_t long_log = 4'000;
constexpr std::int64_t short_log = 4'000;
constexpr double log_tolerance = 0.06;
#else
constexpr std::int64_t long_log = 100'000;
constexpr std::int64_t short_log = 20'000;
constexpr double log_tolerance = 0.01;
#endif

/// With a downpour that fetches more often than it pushes as well.
const std::vector<UpdateSettings> rules_of_8 = [] {
  auto rules = every_rule({.workers = 8, .k = 4, .bound = 2, .push_every = 4, .fetch_every = 8});
  rules.push_back({.rule = UpdateRule::downpour, .workers = 8, .push_every = 4, .fetch_every = 3});
  return rules;
}();

StepTimes varying_steps(int workers, double shift) {
  std::vector<int> nodes(static_cast<std::size_t>(workers));
  std::iota(nodes.begin(), nodes.end(), 0);
  const random::Distribution factor{.kind = random::Kind::shifted_exponential,
                                    .sd = {},
                                    .shift = shift,
                                    .shape = {},
                                    .file = {},
                                    .seen = {}};
  return StepTimes({Seconds{1}}, nodes,
                   {.seed = 1, .op = {}, .step = factor, .node = {}, .slow = {}, .pauses = {}}, 0);
}

struct Logged {
  TrainingRecord record;
  OrderLog log;
};

struct Length {
  std::int64_t warmup = 0;
  std::int64_t measured = 1000;
  Seconds until = {};
  std::int64_t updates = 0;
};

/// Steps of `shift` + an exponential time with mean 1.
Logged log_of_run(const UpdateSettings& settings, const Length& length, double shift = 0) {
  StepTimes times = varying_steps(settings.workers, shift);
  Logged logged;
  logged.record = run_without_network(settings, times,
                                      {.warmup = length.warmup,
                                       .measured = length.measured,
                                       .log = {.take = [&](OrderLog log) { logged.log = std::move(log); },
                                               .until = length.until,
                                               .updates = length.updates}});
  return logged;
}

double mean_time(const OrderLog& log) {
  return log.updates.back().at.si() / static_cast<double>(log.updates.size());
}

void check_same(const TrainingRecord& one, const TrainingRecord& other) {
  CHECK(one.begun == other.begun);
  CHECK(one.ended == other.ended);
  CHECK(one.updates == other.updates);
  CHECK(one.gradients == other.gradients);
  CHECK(one.staleness == other.staleness);
  CHECK(one.lead == other.lead);
  CHECK(one.events == other.events);
  REQUIRE(one.spans.size() == other.spans.size());
  for (std::size_t i = 0; i < one.spans.size(); ++i) CHECK(one.spans[i].ended == other.spans[i].ended);
  for (std::size_t worker = 0; worker < one.workers.size(); ++worker) {
    CHECK(one.workers[worker].computing == other.workers[worker].computing);
    CHECK(one.workers[worker].wasted == other.workers[worker].wasted);
    CHECK(one.workers[worker].waiting == other.workers[worker].waiting);
    CHECK(one.workers[worker].gradients == other.workers[worker].gradients);
  }
}

}  // namespace

TEST_CASE("a log changes nothing of the record, even if it is longer than the measurement") {
  for (const UpdateSettings& settings : rules_of_8) {
    CAPTURE(config::name_of(settings.rule));
    StepTimes times = varying_steps(settings.workers, 0);
    const TrainingRecord alone = run_without_network(settings, times, {.warmup = 20, .measured = 300});
    check_same(log_of_run(settings, {.warmup = 20, .measured = 300}).record, alone);
    const Logged longer = log_of_run(settings, {.warmup = 20, .measured = 300, .updates = 1000});
    check_same(longer.record, alone);
    CHECK(longer.log.updates.size() == 1000);
    check_same(log_of_run(settings, {.warmup = 20, .measured = 300, .until = Seconds{1e-3}}).record, alone);
  }
}

TEST_CASE("the ages of gradients in the log are those that the engine counted") {
  for (const UpdateSettings& settings : rules_of_8) {
    CAPTURE(config::name_of(settings.rule));
    const Logged logged = log_of_run(settings, {});
    CHECK(staleness_in(logged.log) == logged.record.staleness);
  }
}

TEST_CASE("the log begins with version 1 of the warm-up and has dates in order") {
  for (const UpdateSettings& settings : rules_of_8) {
    CAPTURE(config::name_of(settings.rule));
    const OrderLog log = log_of_run(settings, {.warmup = 50, .measured = 100}).log;
    REQUIRE(log.updates.size() == 150);
    CHECK(log.workers == 8);
    CHECK(log.shards == 1);
    for (std::size_t i = 0; i < log.updates.size(); ++i) {
      CHECK(log.updates[i].version == static_cast<std::int64_t>(i) + 1);
      CHECK(log.updates[i].first_use == (i == 0 ? 0 : log.updates[i - 1].last_use));
      CHECK(log.updates[i].last_use - log.updates[i].first_use ==
            static_cast<std::size_t>(gradients_per_update(settings)));
      if (i > 0) CHECK(log.updates[i].at >= log.updates[i - 1].at);
    }
    CHECK(log.uses.size() == log.updates.back().last_use);
    CHECK(log.reads.size() == log.updates.back().reads_before);
  }
}

TEST_CASE("no step is used twice, and only rules that cancel leave out steps") {
  for (const UpdateSettings& settings : rules_of_8) {
    CAPTURE(config::name_of(settings.rule));
    const OrderLog log = log_of_run(settings, {}).log;
    std::vector<std::vector<std::int32_t>> used(static_cast<std::size_t>(log.workers));
    for (const GradientUse& use : log.uses) {
      for (int i = 0; i < use.steps; ++i)
        used[static_cast<std::size_t>(use.worker)].push_back(use.first_step + i);
    }
    const bool cancels = settings.rule == UpdateRule::k_sync || settings.rule == UpdateRule::k_batch_sync;
    bool are_left_out = false;
    for (std::vector<std::int32_t>& steps : used) {
      std::ranges::sort(steps);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i > 0) REQUIRE(steps[i] != steps[i - 1]);
        are_left_out = are_left_out || steps[i] != static_cast<std::int32_t>(i);
      }
    }
    CHECK(are_left_out == cancels);
  }
}

TEST_CASE("k_async of all workers leaves the log of sync, of one worker that of async") {
  const Length length{.measured = 2000};
  const auto log_of = [&](UpdateRule rule, int k) {
    return log_of_run({.rule = rule, .workers = 8, .k = k}, length).log;
  };
  const OrderLog sync = log_of(UpdateRule::sync, 1);
  const OrderLog async = log_of(UpdateRule::async, 1);
  CHECK(are_equal(log_of(UpdateRule::k_async, 8), sync));
  CHECK(are_equal(log_of(UpdateRule::k_sync, 8), sync));
  CHECK(are_equal(log_of(UpdateRule::k_async, 1), async));
  CHECK(are_equal(log_of(UpdateRule::k_batch_async, 1), async));
  CHECK(!are_equal(sync, async));
}

TEST_CASE("gradients of k_batch_async are 1 + (P - 1) / K updates old, whatever the times of steps") {
  for (const double shift : {0.0, 1.0, 50.0}) {
    for (const auto& [workers, k] : {std::pair{8, 4}, {8, 1}, {8, 12}, {16, 5}}) {
      CAPTURE(shift);
      CAPTURE(workers);
      CAPTURE(k);
      const OrderLog log = log_of_run({.rule = UpdateRule::k_batch_async, .workers = workers, .k = k},
                                      {.measured = short_log}, shift)
                               .log;
      // The gradients under way when the log ends are the only difference from the mean.
      CHECK(mean_age(staleness_in(log)) ==
            doctest::Approx(1 + (workers - 1) / double(k)).epsilon(20.0 * workers / short_log));
    }
  }
}

TEST_CASE("gradients of k_async are P / K updates old, those of sync rules fresh") {
  for (const int k : {1, 2, 4, 8}) {
    CAPTURE(k);
    const auto ages = [&](UpdateRule rule) {
      return staleness_in(log_of_run({.rule = rule, .workers = 8, .k = k}, {.measured = short_log}).log);
    };
    CHECK(mean_age(ages(UpdateRule::k_async)) ==
          doctest::Approx(8.0 / k).epsilon(160.0 / static_cast<double>(short_log)));
    const std::vector<std::int64_t> fresh{0, short_log * k};
    CHECK(ages(UpdateRule::k_sync) == fresh);
    CHECK(ages(UpdateRule::k_batch_sync) == fresh);
  }
}

TEST_CASE("of exponential times the ages of asynchronous gradients are geometric with mean P") {
  const int workers = 8;
  const auto ages =
      staleness_in(log_of_run({.rule = UpdateRule::async, .workers = workers}, {.measured = long_log}).log);
  const double n = static_cast<double>(long_log);
  double older = n;  // gradients at least this old
  for (std::size_t age = 1; age <= 3 * workers; ++age) {
    CAPTURE(age);
    const double probability = std::pow(1 - 1.0 / workers, static_cast<double>(age) - 1);
    CHECK(std::abs(older - n * probability) <= 5 * std::sqrt(n * probability));
    older -= static_cast<double>(ages[age]);
  }
  CHECK(ages[0] == 0);
}

TEST_CASE("the times of updates of eight workers are those of Dutta et al., shifted or not") {
  struct Row {
    UpdateSettings settings;
    double exponential;
    double shifted;
  };
  const Row rows[] = {
      {{.rule = UpdateRule::sync, .workers = 8}, 2.717857, 3.717857},
      {{.rule = UpdateRule::k_sync, .workers = 8, .k = 4}, 0.634524, 1.634524},
      {{.rule = UpdateRule::k_batch_sync, .workers = 8, .k = 4}, 0.5, 1.63},
      {{.rule = UpdateRule::k_async, .workers = 8, .k = 4}, 0.634524, 1.24},
      {{.rule = UpdateRule::k_batch_async, .workers = 8, .k = 4}, 0.5, 1.0},
      {{.rule = UpdateRule::async, .workers = 8}, 0.125, 0.25},
  };
  for (const auto& [settings, exponential, shifted] : rows) {
    CAPTURE(config::name_of(settings.rule));
    CHECK(mean_time(log_of_run(settings, {.measured = long_log}).log) ==
          doctest::Approx(exponential).epsilon(log_tolerance));
    CHECK(mean_time(log_of_run(settings, {.measured = long_log}, 1).log) ==
          doctest::Approx(shifted).epsilon(log_tolerance));
  }
}

TEST_CASE("a log ends at its date, at its version, or with the measurement") {
  const UpdateSettings async{.rule = UpdateRule::async, .workers = 8};
  const OrderLog all = log_of_run(async, {.measured = 2000}).log;
  const OrderLog early = log_of_run(async, {.measured = 2000, .until = Seconds{50}}).log;
  REQUIRE(early.updates.size() < all.updates.size());
  CHECK(early.updates.back().at <= Seconds{50});
  CHECK(all.updates[early.updates.size()].at > Seconds{50});
  const OrderLog late = log_of_run(async, {.measured = 10, .until = Seconds{50}}).log;
  CHECK(are_equal(early, late));
  CHECK(log_of_run(async, {.measured = 10, .until = Seconds{50}, .updates = 17}).log.updates.size() == 17);
  CHECK(log_of_run(async, {.measured = 10, .until = all.updates[4].at, .updates = 17}).log.updates.size() ==
        5);
}
