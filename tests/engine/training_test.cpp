#include "engine/training.hpp"

#include "engine/time_per_update.hpp"
#include "random/order_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <queue>
#include <random>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

#ifdef TRAINYARD_SANITIZED
constexpr std::int64_t many_updates = 4'000;
constexpr double tolerance = 0.06;
#else
constexpr std::int64_t many_updates = 100'000;
constexpr double tolerance = 0.01;
#endif

random::Distribution exponential() {
  return {.kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
}

random::Distribution shifted_exponential() {
  random::Distribution distribution = exponential();
  distribution.kind = random::Kind::shifted_exponential;
  distribution.shift = 1;
  return distribution;
}

random::Distribution uniform(double low, double high) {
  random::Distribution distribution = exponential();
  distribution.kind = random::Kind::uniform;
  distribution.low = low;
  distribution.high = high;
  return distribution;
}

random::Distribution pareto(double shape) {
  random::Distribution distribution = exponential();
  distribution.kind = random::Kind::pareto;
  distribution.shape = shape;
  return distribution;
}

/// Steps of 1 s times a random factor.
StepTimes unit_steps(int workers, const random::Distribution& factor, long long seed = 1) {
  std::vector<int> nodes(static_cast<std::size_t>(workers));
  std::iota(nodes.begin(), nodes.end(), 0);
  return StepTimes({Seconds{1}}, nodes,
                   {.seed = seed, .op = {}, .step = factor, .node = {}, .slow = {}, .pauses = {}}, 0);
}

TrainingRecord train(const UpdateSettings& settings, const random::Distribution& factor,
                     std::int64_t updates = many_updates, long long seed = 1) {
  StepTimes times = unit_steps(settings.workers, factor, seed);
  return run_without_network(settings, times, {.warmup = 200, .measured = updates});
}

/// Steps of 1 s after which gradients are sent late.
TrainingRecord train_delayed(const UpdateSettings& settings, const CommunicationDelay& delay,
                             std::int64_t updates) {
  std::vector<int> nodes(static_cast<std::size_t>(settings.workers));
  std::iota(nodes.begin(), nodes.end(), 0);
  StepTimes times({Seconds{1}}, nodes,
                  {.op = {}, .step = {}, .node = {}, .slow = {}, .pauses = {}, .communication = delay}, 0);
  return run_without_network(settings, times, {.warmup = 200, .measured = updates});
}

/// Times of updates with more gradients vary less: fewer are needed for a mean as near to the expected one.
std::int64_t updates_of(int k) {
  return static_cast<std::int64_t>(static_cast<double>(many_updates) / std::sqrt(k));
}

double mean_staleness(const TrainingRecord& record) {
  double sum = 0;
  double count = 0;
  for (std::size_t age = 0; age < record.staleness.size(); ++age) {
    sum += static_cast<double>(age) * static_cast<double>(record.staleness[age]);
    count += static_cast<double>(record.staleness[age]);
  }
  return sum / count;
}

double harmonic(int n) {
  double sum = 0;
  for (int i = 1; i <= n; ++i) sum += 1.0 / i;
  return sum;
}

/// Mean time per update by definition, with a separate loop and the C++ library's random numbers: no
/// calendar, no state machine.
template <class Draw>
double monte_carlo(UpdateRule rule, int workers, int k, Draw draw, int updates) {
  std::mt19937_64 source(99);
  const auto p = static_cast<std::size_t>(workers);
  if (rule == UpdateRule::k_sync) {
    double sum = 0;
    std::vector<double> times(p);
    for (int i = 0; i < updates; ++i) {
      for (double& time : times) time = draw(source);
      std::nth_element(times.begin(), times.begin() + (k - 1), times.end());
      sum += times[static_cast<std::size_t>(k - 1)];
    }
    return sum / updates;
  }
  if (rule == UpdateRule::k_batch_sync) {
    double sum = 0;
    for (int i = 0; i < updates; ++i) {
      std::priority_queue<double, std::vector<double>, std::greater<>> ends;
      for (std::size_t worker = 0; worker < p; ++worker) ends.push(draw(source));
      double last = 0;
      for (int n = 0; n < k; ++n) {
        last = ends.top();
        ends.pop();
        ends.push(last + draw(source));
      }
      sum += last;
    }
    return sum / updates;
  }
  // k_async: a rank that has delivered waits for the k-th
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  for (std::size_t worker = 0; worker < p; ++worker) ends.push(draw(source));
  double first = 0;
  double last = 0;
  const int skipped = 200;
  for (int i = 0; i < updates + skipped; ++i) {
    for (int n = 0; n < k; ++n) {
      last = ends.top();
      ends.pop();
    }
    if (i == skipped - 1) first = last;
    for (int n = 0; n < k; ++n) ends.push(last + draw(source));
  }
  return (last - first) / updates;
}

std::vector<int> some_k(int workers) { return {1, workers / 2, workers}; }

constexpr int worker_counts[] = {8, 16, 32, 64};

}  // namespace

TEST_CASE("delays of mean 0.5 add to steps of 1: rules wait for the k-th of P sums, or for no other") {
  const CommunicationDelay delay{.delay = Seconds{0.5}, .factor = exponential()};
  for (const int workers : {8, 32}) {
    CAPTURE(workers);
    const auto time = [&](UpdateSettings settings) {
      settings.workers = workers;
      return time_per_update(train_delayed(settings, delay, updates_of(settings.k)));
    };
    const double slowest = 0.5 * harmonic(workers);
    CHECK(time({.rule = UpdateRule::sync}) == doctest::Approx(1 + slowest).epsilon(tolerance));
    CHECK(time({.rule = UpdateRule::k_sync, .k = workers}) ==
          doctest::Approx(1 + slowest).epsilon(tolerance));
    CHECK(time({.rule = UpdateRule::k_sync, .k = workers / 2}) ==
          doctest::Approx(1 + slowest - 0.5 * harmonic(workers / 2)).epsilon(tolerance));
    CHECK(time({.rule = UpdateRule::async}) == doctest::Approx(1.5 / workers).epsilon(tolerance));
    CHECK(time({.rule = UpdateRule::k_batch_async, .k = 4}) ==
          doctest::Approx(4 * 1.5 / workers).epsilon(tolerance));
    // only the last of three local steps is sent
    CHECK(time({.rule = UpdateRule::local_sgd, .push_every = 3}) ==
          doctest::Approx(3 + slowest).epsilon(tolerance));
  }
}

TEST_CASE("a delay is communication, not computing, and a constant one is exact") {
  random::Distribution always = exponential();
  always.kind = random::Kind::constant;
  for (const UpdateRule rule : {UpdateRule::sync, UpdateRule::k_sync, UpdateRule::async}) {
    CAPTURE(config::name_of(rule));
    const TrainingRecord record =
        train_delayed({.rule = rule, .workers = 4, .k = 4}, {.delay = Seconds{0.25}, .factor = always}, 400);
    const double updates_per_step = rule == UpdateRule::async ? 4 : 1;
    CHECK(time_per_update(record) == doctest::Approx(1.25 / updates_per_step).epsilon(1e-9));
    for (const WorkerRecord& worker : record.workers) {
      const double all = (record.ended - record.begun).si();
      CHECK(worker.computing.si() == doctest::Approx(all / 1.25).epsilon(1e-9));
      CHECK(worker.communicating.si() == doctest::Approx(all * 0.2).epsilon(1e-9));
    }
  }
}

TEST_CASE("computing that a k_sync update cancels ends where the delay begins") {
  const CommunicationDelay delay{.delay = Seconds{0.5}, .factor = exponential()};
  const TrainingRecord record =
      train_delayed({.rule = UpdateRule::k_sync, .workers = 4, .k = 1}, delay, 1000);
  double computing = 0;
  double wasted = 0;
  for (const WorkerRecord& worker : record.workers) {
    computing += worker.computing.si();
    wasted += worker.wasted.si();
  }
  CHECK(computing == doctest::Approx(4 * 1000).epsilon(1e-9));  // all have computed for 1 s
  CHECK(wasted == doctest::Approx(3 * 1000).epsilon(1e-9));
}

TEST_CASE("of P uniform times k_sync takes the k-th, sync the largest, and async the mean of one") {
  for (const int workers : worker_counts) {
    for (const int k : some_k(workers)) {
      CAPTURE(workers);
      CAPTURE(k);
      const UpdateSettings settings{.rule = UpdateRule::k_sync, .workers = workers, .k = k};
      const double expected = 0.5 + 1.5 * k / (workers + 1);
      CHECK(time_per_update(train(settings, uniform(0.5, 2), updates_of(k))) ==
            doctest::Approx(expected).epsilon(tolerance));
    }
    const UpdateSettings sync{.rule = UpdateRule::sync, .workers = workers};
    CHECK(time_per_update(train(sync, uniform(0.5, 2), updates_of(workers))) ==
          doctest::Approx(0.5 + 1.5 * workers / (workers + 1)).epsilon(tolerance));
    const UpdateSettings async{.rule = UpdateRule::async, .workers = workers};
    CHECK(time_per_update(train(async, uniform(0.5, 2))) ==
          doctest::Approx(1.25 / workers).epsilon(tolerance));
  }
}

TEST_CASE("k_sync takes the k-th of P exponential times, shifted or not") {
  for (const int workers : worker_counts) {
    for (const int k : some_k(workers)) {
      CAPTURE(workers);
      CAPTURE(k);
      const double expected = harmonic(workers) - harmonic(workers - k);
      const UpdateSettings settings{.rule = UpdateRule::k_sync, .workers = workers, .k = k};
      CHECK(time_per_update(train(settings, exponential(), updates_of(k))) ==
            doctest::Approx(expected).epsilon(tolerance));
      CHECK(time_per_update(train(settings, shifted_exponential(), updates_of(k))) ==
            doctest::Approx(1 + expected).epsilon(tolerance));
    }
  }
}

TEST_CASE("k_batch_sync, k_async and k_batch_async of exponential times have their closed forms") {
  for (const int workers : worker_counts) {
    for (const int k : some_k(workers)) {
      CAPTURE(workers);
      CAPTURE(k);
      const auto time_of = [&](UpdateRule rule) {
        return time_per_update(
            train({.rule = rule, .workers = workers, .k = k}, exponential(), updates_of(k)));
      };
      CHECK(time_of(UpdateRule::k_batch_sync) == doctest::Approx(k / double(workers)).epsilon(tolerance));
      CHECK(time_of(UpdateRule::k_batch_async) == doctest::Approx(k / double(workers)).epsilon(tolerance));
      CHECK(time_of(UpdateRule::k_async) ==
            doctest::Approx(harmonic(workers) - harmonic(workers - k)).epsilon(tolerance));
    }
  }
}

TEST_CASE("without waiting, any distribution gives k E[X] / P") {
  for (const int workers : worker_counts) {
    for (const int k : some_k(workers)) {
      const UpdateSettings settings{.rule = UpdateRule::k_batch_async, .workers = workers, .k = k};
      CHECK(time_per_update(train(settings, shifted_exponential(), updates_of(k))) ==
            doctest::Approx(2.0 * k / workers).epsilon(tolerance));
      CHECK(time_per_update(train(settings, pareto(3), updates_of(k))) ==
            doctest::Approx(1.0 * k / workers).epsilon(tolerance));
    }
  }
}

TEST_CASE("where there is no closed form, an independent Monte Carlo agrees") {
  const auto shifted = [](std::mt19937_64& source) {
    return 1 + std::exponential_distribution<double>(1)(source);
  };
  const auto heavy = [](std::mt19937_64& source) {
    return 2.0 / 3 * std::pow(1 - std::uniform_real_distribution<double>()(source), -1.0 / 3);
  };
  const std::pair<int, int> cases[] = {{8, 1}, {8, 4}, {8, 8}, {64, 32}};
  for (const auto& [workers, k] : cases) {
    for (const UpdateRule rule : {UpdateRule::k_sync, UpdateRule::k_batch_sync, UpdateRule::k_async}) {
      CAPTURE(workers);
      CAPTURE(k);
      CAPTURE(config::name_of(rule));
      const auto updates = static_cast<int>(updates_of(k));
      const UpdateSettings settings{.rule = rule, .workers = workers, .k = k};
      CHECK(time_per_update(train(settings, pareto(3), updates_of(k))) ==
            doctest::Approx(monte_carlo(rule, workers, k, heavy, updates)).epsilon(1.5 * tolerance));
      if (rule == UpdateRule::k_sync) continue;  // its closed form is above
      CHECK(time_per_update(train(settings, shifted_exponential(), updates_of(k))) ==
            doctest::Approx(monte_carlo(rule, workers, k, shifted, updates)).epsilon(tolerance));
    }
  }
}

TEST_CASE("the two published Monte Carlo figures of shifted exponential times") {
  const auto time_of = [](UpdateRule rule) {
    return time_per_update(train({.rule = rule, .workers = 8, .k = 4}, shifted_exponential()));
  };
  CHECK(time_of(UpdateRule::k_batch_sync) == doctest::Approx(1.63).epsilon(std::max(tolerance, 0.01)));
  CHECK(time_of(UpdateRule::k_async) == doctest::Approx(1.24).epsilon(std::max(tolerance, 0.01)));
}

TEST_CASE("with the same draws the rules meet at their ends, to the bit") {
  const int workers = 16;
  const auto same = [&](const UpdateSettings& one, const UpdateSettings& other) {
    const TrainingRecord first = train(one, exponential(), 2'000);
    const TrainingRecord second = train(other, exponential(), 2'000);
    CHECK(first.begun == second.begun);
    CHECK(first.ended == second.ended);
    CHECK(first.staleness == second.staleness);
    CHECK(first.updates == second.updates);
    CHECK(first.gradients == second.gradients);
    for (std::size_t worker = 0; worker < first.workers.size(); ++worker) {
      CHECK(first.workers[worker].computing == second.workers[worker].computing);
      CHECK(first.workers[worker].waiting == second.workers[worker].waiting);
      CHECK(first.workers[worker].gradients == second.workers[worker].gradients);
    }
  };
  const auto settings = [&](UpdateRule rule, int k = 1) {
    return UpdateSettings{.rule = rule, .workers = workers, .k = k};
  };
  same(settings(UpdateRule::k_sync, workers), settings(UpdateRule::sync));
  same(settings(UpdateRule::k_async, workers), settings(UpdateRule::sync));
  same(settings(UpdateRule::k_async, 1), settings(UpdateRule::async));
  same(settings(UpdateRule::k_batch_async, 1), settings(UpdateRule::async));
}

TEST_CASE("asynchronous updates come P times the P-th harmonic number as often") {
  constexpr double ratios[] = {21.7, 54.1, 129.9, 303.6};
  for (int i = 0; i < 4; ++i) {
    const int workers = worker_counts[i];
    const double sync = time_per_update(train({.rule = UpdateRule::sync, .workers = workers}, exponential()));
    const double async =
        time_per_update(train({.rule = UpdateRule::async, .workers = workers}, exponential()));
    CHECK(sync / async == doctest::Approx(ratios[i]).epsilon(2 * tolerance));
  }
}

TEST_CASE("gradients are P/k updates old on average in k_async, 1 in sync") {
  for (const int workers : worker_counts) {
    for (const int k : some_k(workers)) {
      const TrainingRecord record =
          train({.rule = UpdateRule::k_async, .workers = workers, .k = k}, shifted_exponential());
      CHECK(mean_staleness(record) == doctest::Approx(double(workers) / k).epsilon(2 * tolerance));
    }
    const TrainingRecord sync = train({.rule = UpdateRule::sync, .workers = workers}, pareto(2), 1'000);
    CHECK(sync.staleness == std::vector<std::int64_t>{0, 1'000 * workers});
    const TrainingRecord cancelling =
        train({.rule = UpdateRule::k_batch_sync, .workers = workers, .k = workers / 2}, pareto(2), 1'000);
    CHECK(cancelling.staleness == std::vector<std::int64_t>{0, 1'000 * workers / 2});
  }
}

TEST_CASE("ssp keeps every worker within its bound, and uses it") {
  for (const int bound : {0, 1, 4}) {
    const TrainingRecord record =
        train({.rule = UpdateRule::ssp, .workers = 8, .bound = bound}, exponential(), 10'000);
    CHECK(record.lead == bound);
    CHECK(static_cast<int>(record.staleness.size()) - 1 <= 7 * (2 * bound + 1) + 1);
  }
}

TEST_CASE("local steps divide the waiting: the slowest of P sums, not the sum of the slowest of P") {
  const TrainingRecord each = train({.rule = UpdateRule::sync, .workers = 16}, exponential(), 20'000);
  const TrainingRecord every_8 =
      train({.rule = UpdateRule::local_sgd, .workers = 16, .push_every = 8}, exponential(), 20'000);
  CHECK(time_per_update(every_8) > 8);
  CHECK(time_per_update(every_8) < 8 * time_per_update(each) * 0.6);
}

TEST_CASE("downpour pushes and fetches at its own pace") {
  const TrainingRecord record = train(
      {.rule = UpdateRule::downpour, .workers = 8, .push_every = 4, .fetch_every = 8}, exponential(), 10'000);
  CHECK(time_per_update(record) == doctest::Approx(4.0 / 8).epsilon(2 * tolerance));
  // half of the pushes follow a fetch by 4 steps, half by 8: 8 and 16 updates of the 8 workers
  CHECK(mean_staleness(record) == doctest::Approx(12).epsilon(3 * tolerance));
}

TEST_CASE("a sum of gradients is as old as its oldest, however often parameters are fetched in between") {
  const TrainingRecord record = train(
      {.rule = UpdateRule::downpour, .workers = 8, .push_every = 4, .fetch_every = 1}, exponential(), 10'000);
  // the first of the four steps began one push ago: 8 updates of the 8 workers
  CHECK(mean_staleness(record) == doctest::Approx(8).epsilon(3 * tolerance));
}

TEST_CASE("time is computing or waiting, and what k_sync cancels is wasted") {
  const UpdateSettings settings{.rule = UpdateRule::k_sync, .workers = 8, .k = 6};
  const TrainingRecord record = train(settings, exponential(), 5'000);
  double wasted = 0;
  for (const WorkerRecord& worker : record.workers) {
    CHECK((worker.computing + worker.waiting).si() ==
          doctest::Approx((record.ended - record.begun).si()).epsilon(1e-9));
    CHECK(worker.wasted <= worker.computing);
    wasted += worker.wasted.si();
  }
  // two of eight are cut off each time, at the sixth order statistic
  const double sixth = harmonic(8) - harmonic(2);
  CHECK(wasted / 5'000 == doctest::Approx(2 * sixth).epsilon(3 * tolerance));
  CHECK(train({.rule = UpdateRule::async, .workers = 8}, exponential(), 100).workers[0].wasted == Seconds{});
}

TEST_CASE("a slow node slows sync by its factor and hardly slows async") {
  const auto with_slow = [](UpdateRule rule) {
    std::vector<int> nodes(8);
    std::iota(nodes.begin(), nodes.end(), 0);
    StepTimes times(
        {Seconds{1}}, nodes,
        {.seed = 1, .op = {}, .step = {}, .node = {}, .slow = {{.node = 3, .factor = 2}}, .pauses = {}}, 0);
    return time_per_update(
        run_without_network({.rule = rule, .workers = 8}, times, {.warmup = 16, .measured = 7'500}));
  };
  CHECK(with_slow(UpdateRule::sync) == doctest::Approx(2));
  CHECK(with_slow(UpdateRule::async) == doctest::Approx(1 / 7.5).epsilon(1e-3));
}

TEST_CASE(
    "a step of n ranks waits for the slowest as order statistics have it, within 1 % of what it waits") {
  for (const int ranks : {2, 3, 4, 8, 16, 32, 64}) {
    CAPTURE(ranks);
    random::Distribution factor = exponential();
    factor.kind = random::Kind::normal;
    factor.sd = 0.02;
    const TrainingRecord record = train({.workers = ranks}, factor, 8 * many_updates / ranks);
    const double excess = time_per_update(record) - 1;
    CHECK(excess == doctest::Approx(random::expected_maximum(ranks, 0.02)).epsilon(tolerance));
  }
}

namespace {

/// Two workers: the second computes 1.5 s per step, the first 1 s.
TrainingRecord load_and_train(UpdateRule rule, std::vector<Seconds> per_step, bool is_prefetched) {
  StepTimes times(
      {Seconds{1}}, {0, 1},
      {.seed = 1, .op = {}, .step = {}, .node = {}, .slow = {{.node = 1, .factor = 1.5}}, .pauses = {}}, 0);
  return run_without_network({.rule = rule, .workers = 2}, times,
                             {.warmup = 20,
                              .measured = 600,
                              .loading = {.per_step = std::move(per_step), .is_prefetched = is_prefetched}});
}

}  // namespace

TEST_CASE("ranks in step exchange for as long as the last one's step says, once for all its local steps") {
  for (const int push_every : {1, 4}) {
    StepTimes times(
        {Seconds{1}}, {0, 1, 2},
        {.seed = 1, .op = {}, .step = {}, .node = {}, .slow = {{.node = 1, .factor = 1.5}}, .pauses = {}}, 0);
    const UpdateRule rule = push_every == 1 ? UpdateRule::sync : UpdateRule::local_sgd;
    const TrainingRecord record = run_without_network(
        {.rule = rule, .workers = 3, .push_every = push_every}, times,
        {.warmup = 1, .measured = 5, .exchange = [](Seconds computed) { return Seconds{2} - computed; }});
    CHECK(time_per_update(record) == doctest::Approx(push_every * 1.5 + 0.5).epsilon(1e-12));
    for (const WorkerRecord& worker : record.workers)
      CHECK(worker.communicating.si() == doctest::Approx(5 * 0.5).epsilon(1e-12));
  }
}

TEST_CASE("a loader that prefetches makes a step as long as the longer of both, another as both together") {
  const auto step = [](double loading, bool is_prefetched) {
    return time_per_update(
        load_and_train(UpdateRule::sync, {Seconds{loading}, Seconds{loading}}, is_prefetched));
  };
  CHECK(step(1.25, true) == doctest::Approx(1.5));
  CHECK(step(2, true) == doctest::Approx(2));
  CHECK(step(2, false) == doctest::Approx(3.5));
  CHECK(step(1e-12, true) == 1.5);
}

TEST_CASE("without waiting for each other each worker goes at the pace of its own loader or GPU") {
  const TrainingRecord record = load_and_train(UpdateRule::async, {Seconds{1.25}, Seconds{1.25}}, true);
  CHECK(time_per_update(record) == doctest::Approx(1 / (1 / 1.25 + 1 / 1.5)).epsilon(0.01));
  const Seconds all = record.ended - record.begun;
  CHECK(record.workers[0].loading / all == doctest::Approx(0.2).epsilon(0.01));
  CHECK(record.workers[1].loading == Seconds{0});
  for (const WorkerRecord& worker : record.workers)
    CHECK((worker.computing + worker.waiting + worker.loading).si() == doctest::Approx(all.si()));
}
