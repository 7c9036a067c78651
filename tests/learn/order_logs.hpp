#pragma once
// Order logs of jobs without a network: workers whose steps take random times, and an update rule. Exact, and
// independent of the engine: the next step to end is looked for among all workers.

#include "learn/streams.hpp"
#include "strategy/order_log.hpp"
#include "strategy/update_rule.hpp"

#include <functional>
#include <limits>
#include <vector>

namespace trainyard {

/// Time of a worker's step.
using StepTime = std::function<double(int worker, int step)>;

inline StepTime exponential_steps(std::uint64_t seed) {
  const random::Generator stream(seed, {0x74657374});
  return [=](int worker, int step) {
    random::Generator generator =
        stream.of(static_cast<std::uint64_t>(worker)).of(static_cast<std::uint64_t>(step));
    return -random::log(generator.uniform());
  };
}
inline StepTime shifted_exponential_steps(std::uint64_t seed) {
  return [draw = exponential_steps(seed)](int worker, int step) { return 1 + draw(worker, step); };
}
/// All alike, but begun one after the other: workers take turns.
inline StepTime steps_in_turn(int workers) {
  return [=](int worker, int step) { return step == 0 ? 1 + static_cast<double>(worker) / workers : 1.0; };
}

struct LogEnd {
  double time = std::numeric_limits<double>::infinity();
  long long updates = std::numeric_limits<long long>::max();
};

/// Shards are updated and read together, one after the other.
inline OrderLog order_log(const UpdateSettings& settings, const StepTime& step_time, LogEnd end,
                          int shards = 1) {
  struct Worker {
    int step = 0;         // under way
    int pushed_from = 0;  // the first step that is not pushed
    double ends = std::numeric_limits<double>::infinity();
  };
  OrderLog log{.workers = settings.workers, .shards = shards, .reads = {}, .uses = {}, .updates = {}};
  std::vector<Worker> workers(static_cast<std::size_t>(settings.workers));
  std::vector<GradientUse> collected;
  UpdateRules rules(settings);
  const auto read = [&](int number) {
    for (int shard = 0; shard < shards; ++shard)
      log.reads.push_back({number, shard, workers[static_cast<std::size_t>(number)].step});
    rules.fetched(number);
  };
  const auto begin = [&](int number, double now) {
    Worker& worker = workers[static_cast<std::size_t>(number)];
    worker.ends = now + step_time(number, worker.step);
  };
  for (int worker = 0; worker < settings.workers; ++worker) {
    read(worker);
    begin(worker, 0);
  }
  const bool fetches_itself = traits(settings.rule).in_background;
  const bool has_steps = traits(settings.rule).sums_steps;
  for (;;) {
    int number = 0;
    for (int i = 1; i < settings.workers; ++i)
      if (workers[static_cast<std::size_t>(i)].ends < workers[static_cast<std::size_t>(number)].ends)
        number = i;
    Worker& worker = workers[static_cast<std::size_t>(number)];
    const double now = worker.ends;
    if (now > end.time) return log;
    worker.ends = std::numeric_limits<double>::infinity();
    rules.computed(number);
    const int done = ++worker.step;
    const bool pushes = !has_steps || done % settings.push_every == 0;
    if (!pushes) {
      if (fetches_itself && done % settings.fetch_every == 0) read(number);
      begin(number, now);
      continue;
    }
    collected.push_back({number, worker.pushed_from, done - worker.pushed_from});
    worker.pushed_from = done;
    const UpdateDecision decision = rules.gradient(number, rules.pushed(number));
    if (decision.is_update) {
      for (int shard = 0; shard < shards; ++shard) {
        const std::size_t first = log.uses.size();
        log.uses.insert(log.uses.end(), collected.begin(), collected.end());
        log.updates.push_back(
            {Seconds(now), rules.version(), first, log.uses.size(), log.reads.size(), shard});
      }
      collected.clear();
      if (rules.version() >= end.updates) return log;
    }
    for (const int released : decision.released) {
      Worker& next = workers[static_cast<std::size_t>(released)];
      if (decision.drops_unfinished && next.ends < std::numeric_limits<double>::infinity())
        next.pushed_from = ++next.step;  // a step that is cancelled keeps its number
      if (!fetches_itself || done % settings.fetch_every == 0) read(released);
      begin(released, now);
    }
  }
}

}  // namespace trainyard
