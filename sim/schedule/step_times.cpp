#include "schedule/step_times.hpp"

#include "random/functions.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trainyard {

namespace {

/// The uses of random numbers: each has its own stream.
enum Purpose : std::uint64_t { node_factor, step_factor, op_factor, pause, gpu_factor, communication };

}  // namespace

StepTimes::StepTimes(std::vector<Seconds> ops, std::vector<int> node_of_worker, Randomness randomness,
                     int repeat)
    : ops_(std::move(ops)),
      nominal_(std::accumulate(ops_.begin(), ops_.end(), Seconds{})),
      randomness_(std::move(randomness)),
      repeat_(static_cast<std::uint64_t>(repeat)),
      factors_(node_of_worker.size(), 1),
      steps_(node_of_worker.size(), 0),
      pause_clocks_(randomness_.pauses ? node_of_worker.size() : 0) {
  const auto seed = static_cast<std::uint64_t>(randomness_.seed);
  for (std::size_t worker = 0; worker < node_of_worker.size(); ++worker) {
    const int node = node_of_worker[worker];
    step_streams_.push_back(random::Generator(seed, {step_factor, repeat_, worker}));
    if (randomness_.node) {
      random::Generator generator(seed, {node_factor, repeat_, static_cast<std::uint64_t>(node)});
      factors_[worker] *= random::draw(*randomness_.node, generator);
    }
    if (randomness_.gpu) {
      random::Generator generator(seed, {gpu_factor, repeat_, worker});
      factors_[worker] *= random::draw(*randomness_.gpu, generator);
    }
    for (const SlowNode& slow : randomness_.slow) {
      if (slow.node == node) factors_[worker] *= slow.factor;
    }
  }
}

Seconds StepTimes::next(int worker) {
  Seconds slowest;
  for (int one = worker * joined_; one < (worker + 1) * joined_; ++one)
    slowest = std::max(slowest, next_of_one(one));
  return slowest;
}

Seconds StepTimes::next_of_one(int worker) {
  const auto number = static_cast<std::uint64_t>(worker);
  const std::uint64_t step = steps_[at(worker)]++;
  double seconds = randomness_.op ? op_seconds(number, step) : nominal_.si();
  if (randomness_.step) {
    random::Generator generator = step_streams_[at(worker)].of(step);
    seconds *= random::draw(*randomness_.step, generator);
  }
  seconds *= factors_[at(worker)];
  return Seconds{randomness_.pauses ? with_pauses(worker, seconds) : seconds};
}

Seconds StepTimes::drawn_delay(int worker) const {
  const int first = worker * joined_;  // of the ranks that push together
  random::Generator generator(static_cast<std::uint64_t>(randomness_.seed),
                              {communication, repeat_, static_cast<std::uint64_t>(first), steps_[at(first)]});
  return random::draw(randomness_.communication->factor, generator) * randomness_.communication->delay;
}

double StepTimes::op_seconds(std::uint64_t worker, std::uint64_t step) const {
  random::Generator generator(static_cast<std::uint64_t>(randomness_.seed),
                              {op_factor, repeat_, worker, step});
  double sum = 0;
  for (const Seconds op : ops_) sum += op.si() * random::draw(*randomness_.op, generator);
  return sum;
}

double StepTimes::with_pauses(int worker, double seconds) {
  PauseClock& clock = pause_clocks_[at(worker)];
  const auto seed = static_cast<std::uint64_t>(randomness_.seed);
  const auto next_gap = [&] {
    random::Generator generator(seed, {pause, repeat_, static_cast<std::uint64_t>(worker), clock.drawn++});
    return -randomness_.pauses->every.si() * random::log(generator.uniform());
  };
  if (clock.drawn == 0) clock.until_next = next_gap();
  double paused = 0;
  double left = seconds;
  while (left >= clock.until_next) {
    left -= clock.until_next;
    paused += randomness_.pauses->duration.si();
    clock.until_next = next_gap();
  }
  clock.until_next -= left;
  return seconds + paused;
}

}  // namespace trainyard
