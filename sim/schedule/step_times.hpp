#pragma once
// Time of each step of each worker if steps vary: the modelled time of the ops times random factors. Every
// factor depends only on the seed, the repeat, the worker and the step, so that update rules are compared
// with the same random numbers.

#include "experiment/randomness.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <vector>

namespace trainyard {

class StepTimes {
public:
  /// `ops`: durations of one step without noise. `node_of_worker`: by worker. `repeat`: selects the random
  /// numbers.
  StepTimes(std::vector<Seconds> ops, std::vector<int> node_of_worker, Randomness randomness, int repeat);

  /// From now on each group of `workers` consecutive workers is one worker that waits for its slowest member.
  void join(int workers) { joined_ = workers; }

  /// The duration of a worker's step; called once for each, in order of the steps (pauses depend on the
  /// previous computing time).
  Seconds next(int worker);

  /// The random delay of a worker's messages after the step drawn last; 0 without random.communication.
  [[nodiscard]] Seconds delay(int worker) const {
    return randomness_.communication ? drawn_delay(worker) : Seconds{};
  }

  /// Time of a step without noise.
  [[nodiscard]] Seconds nominal() const { return nominal_; }

private:
  Seconds next_of_one(int worker);
  [[nodiscard]] Seconds drawn_delay(int worker) const;
  [[nodiscard]] double op_seconds(std::uint64_t worker, std::uint64_t step) const;
  double with_pauses(int worker, double seconds);

  std::vector<Seconds> ops_;
  Seconds nominal_;
  Randomness randomness_;
  std::uint64_t repeat_;
  int joined_ = 1;
  std::vector<double> factors_;  ///< by worker: its node's factor
  std::vector<std::uint64_t> steps_;
  std::vector<random::Generator> step_streams_;  ///< by worker; its step is added
  struct PauseClock {
    double until_next = 0;
    std::uint64_t drawn = 0;
  };
  std::vector<PauseClock> pause_clocks_;
};

}  // namespace trainyard
