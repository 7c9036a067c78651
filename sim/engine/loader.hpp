#pragma once
// Waiting for samples: each worker has a loader that prepares the input of its next steps.

#include "engine/training.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::engine {

class Loader {
public:
  /// Loading begins at `date`.
  Loader(const LoadingTimes& times, int workers, double date) : times_(times) {
    if (times_.per_step.empty()) return;
    State idle;
    idle.ready = date;
    idle.freed.fill(date);
    states_.assign(at(workers), idle);
  }

  /// How long a worker that wants to begin its next step at `date` waits for its samples; called once per
  /// step. A loader that prefetches holds the samples of up to `queue` steps, and continues when a step takes
  /// one of them.
  double wait(int worker, double date) {
    if (states_.empty()) return 0;
    const double loading = times_.per_step[at(worker)].si();
    if (!times_.is_prefetched) return loading;
    State& state = states_[at(worker)];
    double& freed = state.freed.at(state.steps++ % queue);
    state.ready = std::max(state.ready, freed) + loading;
    const double begun = std::max(date, state.ready);
    freed = begun;
    return begun - date;
  }

private:
  static constexpr std::size_t queue = 2;  // DALI's prefetch_queue_depth, PyTorch's prefetch_factor

  struct State {
    double ready = 0;                   ///< when the last samples were ready
    std::array<double, queue> freed{};  ///< by slot (step modulo `queue`): when last emptied
    std::uint64_t steps = 0;
  };

  LoadingTimes times_;
  std::vector<State> states_;
};

}  // namespace trainyard::engine
