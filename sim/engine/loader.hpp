#pragma once
// Who waits for samples: a loader beside each worker that makes ready what the next steps read.

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

  /// How long a worker that wants to begin its next step at `date` waits for its samples; asked once for
  /// each step. A loader that prefetches has room for `queue` steps' samples, and goes on once one is taken.
  double wait(int worker, double date);

private:
  static constexpr std::size_t queue = 2;  // DALI's prefetch_queue_depth, PyTorch's prefetch_factor

  struct State {
    double ready = 0;                   ///< when the last samples were
    std::array<double, queue> freed{};  ///< when there was room again, by step modulo their number
    std::uint64_t steps = 0;
  };

  LoadingTimes times_;
  std::vector<State> states_;
};

}  // namespace trainyard::engine
