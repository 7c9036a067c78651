// The chain from the order log to the loss against exact results for a noisy quadratic.
#include "quadratic.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr int workers = 8;
constexpr double rate = 0.1;
#ifdef TRAINYARD_SANITIZED
constexpr int repetitions = 500;
constexpr long long many = 50'000;
constexpr long long several = many;
#else
constexpr int repetitions = 20'000;
constexpr long long many = 1'000'000;
constexpr long long several = 200'000;  // of several gradients each
#endif
constexpr bool has_few_repetitions = repetitions < 20'000;  // for a quantity with a wide spread

UpdateSettings rule_of_quadratic(UpdateRule rule, int k = 1) {
  return {.rule = rule, .workers = workers, .k = k};
}

void check_floor(const UpdateSettings& rule, const StepTime& times, double expected, std::uint64_t seed,
                 double eta = rate) {
  const long long updates = gradients_per_update(rule) > 1 ? several : many;
  const OrderLog log = order_log(rule, times, {.updates = updates});
  const Mean floor = floor_of_quadratic(log, rule.rule, quadratic_settings(eta), seed);
  INFO(config::name_of(rule.rule), " k ", rule.k, ": ", floor.mean, " +- ", floor.error, ", expected ",
       expected);
  CHECK(std::abs(floor.mean - expected) < 3 * floor.error);
  CHECK(floor.error < 0.02 * std::sqrt(1e6 / static_cast<double>(updates)) * expected);
}

/// E[w^2] after 1000 updates of repeated runs has grown.
bool grows(const UpdateSettings& rule, const StepTime& times, double eta, long long updates) {
  LearnSettings settings = quadratic_settings(eta);
  settings.model.noise = 0;
  const OrderLog log = order_log(rule, times, {.updates = updates});
  double least_late = 0;
  double most_early = 0;
  replay_quadratic(log, rule.rule, settings, 1, [&](const ShardUpdate& update, double w) {
    if (update.version < updates / 10) most_early = std::max(most_early, std::abs(w));
    if (update.version > updates - updates / 10) least_late = std::max(least_late, std::abs(w));
  });
  return least_late > most_early;
}

}  // namespace

TEST_CASE("the mean square error of async follows its recursion update by update") {
  const std::vector<double> expected = async_recursion(workers, rate, 80);
  // the values of the recursion itself
  CHECK(expected[1] == doctest::Approx(0.82));
  CHECK(expected[8] == doctest::Approx(0.147077).epsilon(1e-5));
  CHECK(expected[16] == doctest::Approx(0.099155).epsilon(1e-5));
  CHECK(expected[40] == doctest::Approx(0.091846).epsilon(1e-5));
  CHECK(expected[80] == doctest::Approx(0.089149).epsilon(1e-5));
  std::vector<double> sum(expected.size(), 0.0);
  std::vector<double> squares(expected.size(), 0.0);
  for (int i = 0; i < repetitions; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const OrderLog log =
        order_log(rule_of_quadratic(UpdateRule::async), exponential_steps(seed), {.updates = 80});
    replay_quadratic(log, UpdateRule::async, quadratic_settings(rate), seed,
                     [&](const ShardUpdate& update, double w) {
                       const auto j = static_cast<std::size_t>(update.version);
                       sum[j] += w * w;
                       squares[j] += w * w * w * w;
                     });
  }
  for (const std::size_t j : {1U, 8U, 16U, 40U, 80U}) {
    const double mean = sum[j] / repetitions;
    const double error = std::sqrt((squares[j] / repetitions - mean * mean) / repetitions);
    INFO("update ", j, ": ", mean, " +- ", error, ", expected ", expected[j]);
    CHECK(std::abs(mean - expected[j]) < 3 * error);
  }
}

TEST_CASE("in time the error of async is the recursion weighted by a Poisson process") {
  const std::vector<double> expected = async_recursion(workers, rate, 200);
  for (const auto& [time, value] :
       {std::pair(0.5, 0.452004), std::pair(1.0, 0.195024), std::pair(2.0, 0.104063),
        std::pair(5.0, 0.094936), std::pair(10.0, 0.089188)}) {
    double mixed = 0;  // the recursion's values with the weights of a Poisson distribution
    double weight = std::exp(-workers * time);
    for (std::size_t j = 0; j < expected.size(); ++j) {
      mixed += weight * expected[j];
      weight *= workers * time / static_cast<double>(j + 1);
    }
    CHECK(mixed == doctest::Approx(value).epsilon(1e-5));
    double sum = 0;
    double squares = 0;
    const int runs = repetitions / 2;
    for (int i = 0; i < runs; ++i) {
      const auto seed = static_cast<std::uint64_t>(i);
      const OrderLog log =
          order_log(rule_of_quadratic(UpdateRule::async), exponential_steps(seed), {.time = time});
      double last = 1;
      replay_quadratic(log, UpdateRule::async, quadratic_settings(rate), seed,
                       [&](const ShardUpdate&, double w) { last = w; });
      sum += last * last;
      squares += last * last * last * last;
    }
    const double mean = sum / runs;
    const double error = std::sqrt((squares / runs - mean * mean) / runs);
    INFO("time ", time, ": ", mean, " +- ", error, ", expected ", value);
    CHECK(std::abs(mean - value) < 3 * error);
  }
}

TEST_CASE("the floors of all update rules are those of their recursions") {
  CHECK(sync_floor(8, rate) == doctest::Approx(0.00657895).epsilon(1e-6));
  CHECK(sync_floor(4, rate) == doctest::Approx(0.01315789).epsilon(1e-6));
  CHECK(k_async_floor(8, 4, rate) == doctest::Approx(0.01440988).epsilon(1e-6));
  CHECK(k_async_floor(8, 2, rate) == doctest::Approx(0.03389185).epsilon(1e-6));
  CHECK(async_floor(8, rate) == doctest::Approx(0.08910891).epsilon(1e-6));
  CHECK(k_batch_async_floor(8, 1, rate) == doctest::Approx(0.08910891).epsilon(1e-6));  // is async
  const StepTime times = exponential_steps(1);
  check_floor(rule_of_quadratic(UpdateRule::sync), times, 0.00657895, 1);
  check_floor(rule_of_quadratic(UpdateRule::k_sync, 4), times, 0.01315789, 2);
  check_floor(rule_of_quadratic(UpdateRule::k_batch_sync, 4), times, 0.01315789, 3);
  check_floor(rule_of_quadratic(UpdateRule::k_async, 4), times, 0.01440988, 4);
  check_floor(rule_of_quadratic(UpdateRule::k_async, 2), times, 0.03389185, 5);
  check_floor(rule_of_quadratic(UpdateRule::k_batch_async, 4), times, k_batch_async_floor(8, 4, rate), 1);
  check_floor(rule_of_quadratic(UpdateRule::async), times, 0.08910891, 6);
}

TEST_CASE("local_sgd has sync's floor after averaging, whatever the number of local steps") {
  for (const int steps : {1, 3}) {
    UpdateSettings settings = rule_of_quadratic(UpdateRule::local_sgd);
    settings.push_every = steps;
    check_floor(settings, exponential_steps(1), 0.00657895, 7);
  }
}

TEST_CASE(
    "ssp with a bound that nobody reaches is async, and with bound 0 applies rounds of equally old "
    "gradients") {
  UpdateSettings settings = rule_of_quadratic(UpdateRule::ssp);
  settings.bound = 1'000'000'000;
  check_floor(settings, exponential_steps(1), 0.08910891, 8);
  // A round begins at w and applies P gradients of w one by one: w_j = (1 - b j) w plus j noises.
  const double begin = workers * rate * rate / (1 - (1 - workers * rate) * (1 - workers * rate));
  double floor = 0;
  for (int j = 1; j <= workers; ++j)
    floor += ((1 - rate * j) * (1 - rate * j) * begin + j * rate * rate) / workers;
  settings.bound = 0;
  check_floor(settings, exponential_steps(1), floor, 9);
}

TEST_CASE("workers that take turns make gradients P - 1 updates old, with the floors of that delay") {
  for (const auto& [delay, floor] :
       {std::pair(1, 0.05820106), std::pair(3, 0.07157907), std::pair(7, 0.11510801)}) {
    const UpdateSettings settings{.rule = UpdateRule::async, .workers = delay + 1};
    check_floor(settings, steps_in_turn(delay + 1), floor, static_cast<std::uint64_t>(delay));
  }
  CHECK(0.01 * 1.1 / ((1 - 0.1) * 0.1 * 2.1) == doctest::Approx(0.05820106).epsilon(1e-6));
}

TEST_CASE("delayed gradients are stable up to 2 sin(pi / (2 (2 delay + 1))), within 2 %") {
  for (const int delay : {1, 3, 7}) {
    const double limit = 2 * std::sin(3.14159265358979323846 / (2 * (2 * delay + 1)));
    if (delay == 7) CHECK(limit == doctest::Approx(0.2091).epsilon(1e-3));
    const UpdateSettings settings{.rule = UpdateRule::async, .workers = delay + 1};
    CHECK_FALSE(grows(settings, steps_in_turn(delay + 1), 0.98 * limit, 20'000));
    CHECK(grows(settings, steps_in_turn(delay + 1), 1.02 * limit, 20'000));
  }
}

TEST_CASE("async at a rate near its limit has a finite floor 2 % below it and none 2 % above" *
          doctest::skip(has_few_repetitions)) {
  // The limit is of E[w^2]: a single run may still shrink above it. The recursion decides, the replay follows
  // it.
  const double limit = (1 + std::sqrt(1.0 + 8 * workers)) / (2 * workers);
  CHECK(limit == doctest::Approx(0.5664).epsilon(1e-3));
  const auto ratio = [&](double eta) {
    const std::vector<double> error = async_recursion(workers, eta, 16'000);
    return error[16'000] / error[8'000];
  };
  CHECK(ratio(0.98 * limit) == doctest::Approx(1).epsilon(1e-3));
  CHECK(ratio(1.02 * limit) > 10);
  for (const double part : {0.98, 1.02}) {
    const std::vector<double> expected = async_recursion(workers, part * limit, 40);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < repetitions; ++i) {
      const auto seed = static_cast<std::uint64_t>(i);
      const OrderLog log =
          order_log(rule_of_quadratic(UpdateRule::async), exponential_steps(seed), {.updates = 40});
      double last = 0;
      replay_quadratic(log, UpdateRule::async, quadratic_settings(part * limit), seed,
                       [&](const ShardUpdate&, double w) { last = w; });
      sum += last * last;
      squares += last * last * last * last;
    }
    const double mean = sum / repetitions;
    const double error = std::sqrt((squares / repetitions - mean * mean) / repetitions);
    INFO(part, " of the limit: ", mean, " +- ", error, ", expected ", expected[40]);
    CHECK(std::abs(mean - expected[40]) < 3 * error);
  }
}

TEST_CASE("dividing the rate by the staleness lowers async's floor") {
  const OrderLog log =
      order_log(rule_of_quadratic(UpdateRule::async), exponential_steps(1), {.updates = many / 10});
  LearnSettings settings = quadratic_settings(rate);
  settings.rate.rule = RateRule::by_staleness;
  const Mean floor = floor_of_quadratic(log, UpdateRule::async, settings, 1);
  CHECK(floor.mean < 0.5 * 0.08910891);
}
