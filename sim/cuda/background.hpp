#pragma once
// Work that runs on the GPU beside what is measured: copies under a kernel whose slow-down is timed, a kernel
// under which the power is read.

#include "timer.cuh"

#include <atomic>
#include <exception>
#include <thread>

namespace trainyard::cuda {

/// Keeps a stream of its own busy with one call after the other, from its making to its end. Calls that are
/// shorter than 0.1 ms would leave gaps.
class Background {
public:
  /// Returns when the first call has ended on the GPU and others are under way. Throws what `launch` throws.
  explicit Background(Launch launch);
  /// Waits for the calls that were begun.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Calls that have ended.
  [[nodiscard]] long ended() const { return ended_; }

  /// Ends it; throws what went wrong meanwhile.
  void finish();

private:
  void work(int device);

  Launch launch_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<long> ended_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace trainyard::cuda
