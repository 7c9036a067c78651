#pragma once
// Work that runs on the GPU during a measurement: copies, while the slowdown of a kernel is timed, or a
// kernel, while the power is read.

#include "timer.cuh"

#include <atomic>
#include <exception>
#include <thread>

namespace trainyard::cuda {

/// Keeps its own stream busy with consecutive calls as long as it exists. Calls shorter than 0.1 ms would
/// leave gaps.
class Background {
public:
  /// Returns when the first call has ended on the GPU and others have begun. Throws the exceptions of
  /// `launch`.
  explicit Background(Launch launch);
  /// Waits for the calls already begun.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Number of calls that have ended.
  [[nodiscard]] long ended() const { return ended_; }

  /// Stops it; throws errors that have occurred meanwhile.
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
