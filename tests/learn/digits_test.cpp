// Softmax regression and perceptrons on the shipped digits: what update rules do to learning.
#include "learn/learn.hpp"
#include "learn/objective.hpp"
#include "learn/replay.hpp"
#include "order_logs.hpp"
#include "units/statistics.hpp"

#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <numeric>

using namespace trainyard;

namespace {

#ifdef TRAINYARD_SANITIZED
constexpr int seeds = 6;
#else
constexpr int seeds = 24;
#endif
// Too few for a statement about means of runs with a wide spread.
constexpr bool has_few_seeds = seeds < 24;

const config::Catalogue shipped{{TRAINYARD_SOURCE_DIR}};

LearnSettings softmax_on_digits(double rate, int batch = 8) {
  LearnSettings settings;
  settings.model.kind = LearnerKind::softmax;
  settings.data.emplace().name = DataName::digits;
  settings.data->label_noise = 0.1;
  settings.batch = batch;
  settings.rate.base = rate;
  return settings;
}

/// The digits with noisy labels, divided by the seed. Reading them takes longer than many a replay.
const LearningSets& digits(std::uint64_t seed) {
  static std::map<std::uint64_t, LearningSets> known;
  const auto found = known.find(seed);
  if (found != known.end()) return found->second;
  return known.emplace(seed, load_samples(*softmax_on_digits(1).data, shipped, {}, seed)).first->second;
}

struct Estimate {
  double mean = 0;
  double error = 0;
  double median = 0;
};

Estimate estimate(const std::vector<double>& values) {
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const auto count = static_cast<double>(values.size());
  return {middle, std::sqrt(squares / count / (count - 1)), quantile(values, 0.5)};
}

/// Training losses at the given times, over seeds that also divide and disturb the data. Losses are evaluated
/// at these and at few other times: an evaluation takes as long as hundreds of gradients.
std::vector<Estimate> losses_at(
    const std::vector<int>& times, const UpdateSettings& rule, LearnSettings settings,
    const std::function<StepTime(std::uint64_t)>& step_times = exponential_steps) {
  std::vector<std::vector<double>> values(times.size());
  const int apart =
      std::accumulate(times.begin(), times.end(), 0, [](int a, int b) { return std::gcd(a, b); });
  settings.points = times.back() / apart;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const LearningSets& sets = digits(seed);
    const OrderLog log = order_log(rule, step_times(seed), {.time = times.back() + 1.0});
    const LearningRun run = learn_once(log, rule.rule, settings, &sets, seed, 0, Seconds(times.back()));
    for (std::size_t i = 0; i < times.size(); ++i)
      values[i].push_back(run.curve[static_cast<std::size_t>(times[i] / apart)].train_loss);
  }
  std::vector<Estimate> estimates;
  for (const auto& own : values) estimates.push_back(estimate(own));
  return estimates;
}

UpdateSettings with(UpdateRule rule, int k = 1, int workers = 8) {
  return {.rule = rule, .workers = workers, .k = k};
}

}  // namespace

TEST_CASE("losses of all rules on digits agree with a replay written apart, in plain Python" *
          doctest::skip(has_few_seeds)) {
  struct Row {
    UpdateSettings rule;
    RateRule rate;
    std::array<double, 3> loss;   ///< at 10, 20 and 80 mean step times, of 6 seeds
    std::array<double, 3> error;  ///< their standard errors
  };
  constexpr std::array narrow{0.02, 0.02, 0.02};
  const std::vector<int> times{10, 20, 80};
  for (const Row& row :
       {Row{with(UpdateRule::sync), RateRule::fixed, {2.07, 1.83, 1.14}, narrow},
        Row{with(UpdateRule::k_sync, 4), RateRule::fixed, {1.53, 1.13, 0.751}, narrow},
        Row{with(UpdateRule::k_batch_sync, 4), RateRule::fixed, {1.39, 1.04, 0.724}, narrow},
        Row{with(UpdateRule::k_async, 4), RateRule::fixed, {1.50, 1.13, 0.754}, narrow},
        Row{with(UpdateRule::k_batch_async, 4), RateRule::fixed, {1.40, 1.02, 0.728}, narrow},
        Row{with(UpdateRule::async), RateRule::fixed, {1.42, 0.896, 0.805}, {0.2, 0.1, 0.04}},
        Row{with(UpdateRule::async), RateRule::by_staleness, {1.35, 0.973, 0.721}, narrow}}) {
    LearnSettings settings = softmax_on_digits(0.5);
    settings.rate.rule = row.rate;
    const std::vector<Estimate> found = losses_at(times, row.rule, settings);
    for (std::size_t i = 0; i < times.size(); ++i) {
      INFO(config::name_of(row.rule.rule), " ", config::name_of(row.rate), " at ", times[i], ": ",
           found[i].mean, " +- ", found[i].error, ", apart ", row.loss[i], " +- ", row.error[i]);
      CHECK(std::abs(found[i].mean - row.loss[i]) < 3 * std::hypot(found[i].error, row.error[i]));
    }
  }
}

TEST_CASE("async decays faster in time than waiting for all and ends higher at the same rate" *
          doctest::skip(has_few_seeds)) {
  const std::vector<Estimate> sync =
      losses_at({20, 80}, with(UpdateRule::k_batch_sync, 4), softmax_on_digits(0.5));
  const std::vector<Estimate> all = losses_at({20, 80}, with(UpdateRule::sync), softmax_on_digits(0.5));
  const std::vector<Estimate> async = losses_at({20, 80}, with(UpdateRule::async), softmax_on_digits(0.5));
  CHECK(async[0].mean < all[0].mean - 0.3);
  CHECK(async[0].median < sync[0].median);
  CHECK(async[1].mean > sync[1].mean + 2 * async[1].error);
}

TEST_CASE("k_async is as fast as k_sync for exponential steps and faster for steps with a least time") {
  const LearnSettings settings = softmax_on_digits(0.5);
  const auto updates = [&](UpdateRule rule, const std::function<StepTime(std::uint64_t)>& times) {
    return static_cast<double>(order_log(with(rule, 4), times(3), {.time = 4000}).updates.size()) / 4000;
  };
  CHECK(updates(UpdateRule::k_async, exponential_steps) ==
        doctest::Approx(updates(UpdateRule::k_sync, exponential_steps)).epsilon(0.03));
  CHECK(1 / updates(UpdateRule::k_sync, exponential_steps) == doctest::Approx(0.634524).epsilon(0.02));
  CHECK(1 / updates(UpdateRule::k_batch_sync, exponential_steps) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(1 / updates(UpdateRule::k_async, shifted_exponential_steps) == doctest::Approx(1.24).epsilon(0.02));
  CHECK(1 / updates(UpdateRule::k_sync, shifted_exponential_steps) ==
        doctest::Approx(1.634524).epsilon(0.02));
  const auto loss = [&](UpdateRule rule, const std::function<StepTime(std::uint64_t)>& times) {
    return losses_at({20, 40}, with(rule, 4), settings, times);
  };
  const Estimate one = loss(UpdateRule::k_async, exponential_steps)[0];
  const Estimate other = loss(UpdateRule::k_sync, exponential_steps)[0];
  CHECK(std::abs(one.mean - other.mean) < 3 * std::hypot(one.error, other.error));
  const Estimate faster = loss(UpdateRule::k_async, shifted_exponential_steps)[1];
  const Estimate slower = loss(UpdateRule::k_sync, shifted_exponential_steps)[1];
  CHECK(faster.mean < slower.mean - 3 * std::hypot(faster.error, slower.error));
}

TEST_CASE("with k = P k_async learns as sync does, and with k = 1 as async, to the bit") {
  const LearnSettings settings = softmax_on_digits(0.5);
  const LearningSets& sets = digits(1);
  const auto curve = [&](const UpdateSettings& rule) {
    std::vector<double> losses;
    for (const LearningPoint& point : learn_once(order_log(rule, exponential_steps(1), {.time = 20}),
                                                 rule.rule, settings, &sets, 1, 0, Seconds(19))
                                          .curve)
      losses.push_back(point.train_loss);
    return losses;
  };
  CHECK(curve(with(UpdateRule::k_async, 8)) == curve(with(UpdateRule::sync)));
  CHECK(curve(with(UpdateRule::k_async, 1)) == curve(with(UpdateRule::async)));
  CHECK(curve(with(UpdateRule::k_async, 4)) != curve(with(UpdateRule::sync)));
}

TEST_CASE("a rate divided by the staleness learns where a fixed rate does not" *
          doctest::skip(has_few_seeds)) {
  LearnSettings settings = softmax_on_digits(1);
  const UpdateSettings rule = with(UpdateRule::async, 1, 16);
  const Estimate fixed = losses_at({40}, rule, settings)[0];
  settings.rate.rule = RateRule::by_staleness;
  const Estimate modulated = losses_at({40}, rule, settings)[0];
  INFO("fixed ", fixed.mean, " +- ", fixed.error, ", by staleness ", modulated.mean, " +- ", modulated.error);
  // the replay written apart has 1.98; its seeds scatter as these do
  CHECK(std::abs(fixed.mean - 1.98) < 3 * std::hypot(fixed.error, fixed.error * std::sqrt(seeds / 6.0)));
  CHECK(modulated.mean < 0.87);
  CHECK(modulated.mean < fixed.mean - 4 * fixed.error);
}

TEST_CASE(
    "Adagrad learns over a wider range of base rates than a fixed rate where features differ in scale") {
  LearningSets sets = digits(1);
  constexpr std::array scales{0.1F, 1.0F, 10.0F};
  for (std::size_t i = 0; i < sets.train.values.size(); ++i)
    sets.train.values[i] *= scales[i % 64 % scales.size()];
  // base rates, two apart by a factor of 2, at which async halves the initial loss
  const auto good_rates = [&](RateRule rule) {
    int good = 0;
    for (double rate = 1.0 / 4096; rate < 100; rate *= 2) {
      LearnSettings settings = softmax_on_digits(rate);
      settings.rate.rule = rule;
      settings.points = 40;
      const UpdateSettings async = with(UpdateRule::async);
      const OrderLog log = order_log(async, exponential_steps(1), {.time = 61});
      const LearningRun run = learn_once(log, async.rule, settings, &sets, 1, 0, Seconds(60));
      good += run.loss_floor && run.loss_floor->mean < std::log(10.0) / 2;
    }
    return good;
  };
  const int adagrad = good_rates(RateRule::adagrad);
  const int fixed = good_rates(RateRule::fixed);
  INFO("adagrad ", adagrad, ", fixed ", fixed);
  CHECK(adagrad >= fixed + 2);
}

TEST_CASE(
    "a deep perceptron averaged only at the end is worse than each worker's, softmax regression is not") {
  constexpr int workers = 8;
  constexpr int steps = 400;
  struct Losses {
    double averaged, often, best, worst;
  };
  const auto losses = [&](LearnerSettings model) {
    LearnSettings settings = softmax_on_digits(0.2);
    settings.model = std::move(model);
    const LearningSets& sets = digits(1);
    const auto loss_of = [&](const std::vector<int>& members, int push_every) {
      OrderLog log{.workers = workers, .shards = 1, .reads = {}, .uses = {}, .updates = {}};
      for (int from = 0; from < steps; from += push_every) {
        const std::size_t first = log.uses.size();
        for (const int worker : members) log.uses.push_back({worker, from, push_every});
        log.updates.push_back(
            {Seconds(from + 1.0), from / push_every + 1, first, log.uses.size(), log.reads.size(), 0});
        for (const int worker : members) log.reads.push_back({worker, 0, from + push_every});
      }
      const auto objective = make_objective(settings, &sets, workers, 1, 0);
      Replay replay(log, UpdateRule::local_sgd, settings, *objective);
      while (replay.upcoming() != nullptr) replay.next();
      return objective->evaluate(replay.parameters()).train_loss;
    };
    const std::vector all{0, 1, 2, 3, 4, 5, 6, 7};
    Losses found{loss_of(all, steps), loss_of(all, 10), 1e9, 0};
    for (const int worker : all) {
      const double own = loss_of({worker}, steps);
      found.best = std::min(found.best, own);
      found.worst = std::max(found.worst, own);
    }
    return found;
  };
  const Losses softmax = losses({.kind = LearnerKind::softmax});
  INFO("softmax averaged at the end ", softmax.averaged, ", each ", softmax.best, " to ", softmax.worst);
  CHECK(softmax.averaged < softmax.best);
  const Losses deep = losses({.kind = LearnerKind::mlp, .hidden = std::vector{32, 32, 32}});
  INFO("perceptron at the end ", deep.averaged, ", every 10 steps ", deep.often, ", each ", deep.best, " to ",
       deep.worst);
  CHECK(deep.averaged > deep.worst);
  CHECK(deep.often < deep.best);
}

TEST_CASE("with linear scaling losses fall together against samples until the batch is large, then part") {
  // Synchronous workers: the batch of an update is 8 samples of each.
  const auto loss_after = [&](int workers, int samples) {
    std::vector<double> losses;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      LearnSettings settings = softmax_on_digits(0.05);
      settings.rate.rule = RateRule::linear_scaling;
      settings.rate.base_batch = 8;
      settings.points = 1;
      settings.until.updates = samples / (8 * workers);
      const LearningSets& sets = digits(seed);
      const UpdateSettings rule = with(UpdateRule::sync, 1, workers);
      const OrderLog log = order_log(rule, exponential_steps(seed), {.updates = *settings.until.updates});
      losses.push_back(learn_once(log, rule.rule, settings, &sets, seed, 0).curve.back().train_loss);
    }
    return estimate(losses);
  };
  constexpr int samples = 8192;
  const Estimate one = loss_after(1, samples);
  const Estimate four = loss_after(4, samples);
  const Estimate many = loss_after(128, samples);
  INFO("B 8: ", one.mean, " +- ", one.error, ", 32: ", four.mean, " +- ", four.error, ", 1024: ", many.mean,
       " +- ", many.error);
  CHECK(std::abs(four.mean / one.mean - 1) < 0.03);
  CHECK(many.mean > 1.1 * one.mean);
}

TEST_CASE("a large scaled batch starts worse without warm-up") {
  const auto early = [&](double warmup) {
    LearnSettings settings = softmax_on_digits(0.05);
    settings.rate.rule = RateRule::linear_scaling;
    settings.rate.base_batch = 8;
    settings.rate.warmup_epochs = warmup;
    std::vector<double> losses;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const LearningSets& sets = digits(seed);
      const UpdateSettings rule = with(UpdateRule::sync, 1, 64);
      const OrderLog log = order_log(rule, exponential_steps(seed), {.updates = 8});
      settings.points = 16;
      const LearningRun run = learn_once(log, rule.rule, settings, &sets, seed, 0);
      double worst = 0;
      for (const LearningPoint& point : run.curve) worst = std::max(worst, point.train_loss);
      losses.push_back(worst);
    }
    return estimate(losses);
  };
  const Estimate without = early(0);
  const Estimate with_warmup = early(5);
  INFO("highest loss without ", without.mean, ", with warm-up ", with_warmup.mean);
  CHECK(without.mean > std::log(10.0) + 0.1);
  CHECK(with_warmup.mean == doctest::Approx(std::log(10.0)));  // it only falls
}

TEST_CASE("K-sync is faster per update and needs more updates to the same loss") {
  LearnSettings settings = softmax_on_digits(0.3);
  settings.target.loss = 0.9;
  settings.points = 200;
  const LearningSets& sets = digits(1);
  const auto to_target = [&](const UpdateSettings& rule) {
    std::vector<OrderLog> logs;
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
      logs.push_back(order_log(rule, exponential_steps(seed), {.time = 700}));
    return learn(logs, rule.rule, settings, &sets, 1);
  };
  const Learning all = to_target(with(UpdateRule::sync));
  const Learning one = to_target(with(UpdateRule::k_sync, 1));
  REQUIRE(all.time_to_target_s.median);
  REQUIRE(one.time_to_target_s.median);
  CHECK(*one.time_to_target_s.median < 0.5 * *all.time_to_target_s.median);
  CHECK(*one.updates_to_target.median > *all.updates_to_target.median);
  CHECK(*one.samples_to_target.median < *all.samples_to_target.median);
}

TEST_CASE("the noise scale from fresh gradients of two batches is that of the gradients of single samples") {
  LearnSettings settings = softmax_on_digits(1e-9, 4);  // the parameters stay where they are
  const LearningSets& sets = digits(1);
  const UpdateSettings rule = with(UpdateRule::sync);
  const OrderLog log = order_log(rule, exponential_steps(1), {.updates = 2000});
  const LearningRun run = learn_once(log, rule.rule, settings, &sets, 1, 0);
  REQUIRE(run.curve.back().noise_scale);
  // directly: the whole gradient, and those of all samples
  LearnSettings single = settings;
  single.batch = 1;
  single.data_per_worker = DataPerWorker::replicated;
  const auto objective = make_objective(single, &sets, 1, 1, 0);
  std::vector<double> parameters(650, 0.0);
  std::vector<double> gradient(650);
  std::vector<double> mean_gradient(650, 0.0);
  double squares = 0;
  const int count = sets.train.count();
  for (int i = 0; i < count; ++i) {
    objective->gradient(0, i, parameters, gradient);
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      mean_gradient[j] += gradient[j] / count;
      squares += gradient[j] * gradient[j] / count;
    }
  }
  double norm = 0;
  for (const double value : mean_gradient) norm += value * value;
  const double direct = (squares - norm) / norm;
  INFO("measured ", *run.curve.back().noise_scale, ", directly ", direct);
  CHECK(*run.curve.back().noise_scale == doctest::Approx(direct).epsilon(0.05));
}
