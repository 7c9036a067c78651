#include "schedule/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

random::Distribution log_normal(double sd) {
  return {.kind = random::Kind::log_normal,
          .mean = 1,
          .sd = sd,
          .shift = {},
          .shape = {},
          .file = {},
          .seen = {}};
}

Randomness nothing() { return {.seed = 1, .op = {}, .step = {}, .node = {}, .slow = {}, .pauses = {}}; }

}  // namespace

TEST_CASE("without randomness every step is the sum of its ops") {
  StepTimes times({Seconds{1}, Seconds{2}}, {0, 0, 1}, nothing(), 0);
  CHECK(times.nominal() == Seconds{3});
  for (const int worker : {0, 1, 2, 0}) CHECK(times.next(worker) == Seconds{3});
  CHECK_FALSE(is_random(nothing()));
}

TEST_CASE("the workers of a node share its factor, repeats draw anew") {
  Randomness randomness = nothing();
  randomness.node = log_normal(0.5);
  randomness.slow = {{.node = 1, .factor = 10}};
  StepTimes times({Seconds{1}}, {0, 0, 1}, randomness, 0);
  StepTimes again({Seconds{1}}, {0, 0, 1}, randomness, 1);
  const Seconds first = times.next(0);
  CHECK(times.next(0) == first);
  CHECK(times.next(1) == first);
  CHECK(times.next(2) != first);
  CHECK(again.next(0) != first);
}

TEST_CASE("noise of many ops averages out, noise of the step does not") {
  const std::vector<Seconds> ops(400, Seconds{0.0025});
  const auto spread = [&](bool per_op) {
    Randomness randomness = nothing();
    (per_op ? randomness.op : randomness.step) = log_normal(0.4);
    StepTimes times(ops, {0}, randomness, 0);
    double sum = 0;
    double squares = 0;
    constexpr int steps = 2'000;
    for (int i = 0; i < steps; ++i) {
      const double seconds = times.next(0).si();
      sum += seconds;
      squares += seconds * seconds;
    }
    CHECK(sum / steps == doctest::Approx(1).epsilon(0.03));
    return std::sqrt(squares / steps - sum * sum / steps / steps);
  };
  CHECK(spread(false) == doctest::Approx(0.4).epsilon(0.1));
  CHECK(spread(true) == doctest::Approx(0.4 / 20).epsilon(0.1));
}

TEST_CASE("pauses lengthen the steps they fall into by what they last") {
  Randomness randomness = nothing();
  randomness.pauses = Pauses{.every = Seconds{10}, .duration = Seconds{2}};
  StepTimes times({Seconds{1}}, {0}, randomness, 0);
  double sum = 0;
  constexpr int steps = 20'000;
  int longer = 0;
  for (int i = 0; i < steps; ++i) {
    const double seconds = times.next(0).si();
    CHECK(std::fmod(seconds - 1, 2) == doctest::Approx(0));
    longer += seconds > 1 ? 1 : 0;
    sum += seconds;
  }
  CHECK(sum / steps == doctest::Approx(1.2).epsilon(0.02));
  CHECK(longer / double(steps) == doctest::Approx(1 - std::exp(-0.1)).epsilon(0.05));
}

TEST_CASE("a draw belongs to its worker and step, whoever asks in between") {
  Randomness randomness = nothing();
  randomness.step = log_normal(1);
  StepTimes one({Seconds{1}}, {0, 1}, randomness, 0);
  StepTimes other({Seconds{1}}, {0, 1}, randomness, 0);
  const Seconds first = one.next(0);
  const Seconds second = one.next(0);
  other.next(1);
  CHECK(other.next(0) == first);
  other.next(1);
  CHECK(other.next(0) == second);
}

TEST_CASE("workers that are joined wait for their slowest, and draw what each would alone") {
  Randomness noisy = nothing();
  noisy.step = log_normal(0.3);
  StepTimes alone({Seconds{1}}, {0, 0, 1, 1}, noisy, 0);
  StepTimes joined({Seconds{1}}, {0, 0, 1, 1}, noisy, 0);
  joined.join(2);
  for (int step = 0; step < 10; ++step) {
    const Seconds first = std::max(alone.next(0), alone.next(1));
    const Seconds second = std::max(alone.next(2), alone.next(3));
    CHECK(joined.next(0) == first);
    CHECK(joined.next(1) == second);
  }
}
