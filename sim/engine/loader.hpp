#pragma once
// Waiting for samples: each worker has a loader that prepares the input of its next steps.

#include "engine/training.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::engine {

class Loader {
public:
  /// Loading begins at `date`.
  Loader(const LoadingTimes& times, int workers, double date);

  /// How long a worker that wants to begin its next step at `date` waits for its samples; called once per
  /// step. A loader that prefetches holds the samples of up to `queue` steps, and continues when a step takes
  /// one of them.
  double wait(int worker, double date);

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
