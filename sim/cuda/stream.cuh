#pragma once
// CUDA's streams and events as values that release themselves.

#include "check_cuda.cuh"

#include <utility>

namespace trainyard::cuda {

/// A stream of the current GPU that does not wait for the default stream.
class Stream {
public:
  Stream() { CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const { CHECK_CUDA(cudaStreamSynchronize(stream_)); }

private:
  cudaStream_t stream_ = nullptr;
};

/// An event of the current GPU, for timing.
class Event {
public:
  Event() { CHECK_CUDA(cudaEventCreate(&event_)); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  [[nodiscard]] cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) const { CHECK_CUDA(cudaEventRecord(event_, stream)); }
  void synchronize() const { CHECK_CUDA(cudaEventSynchronize(event_)); }

private:
  cudaEvent_t event_ = nullptr;
};

/// Microseconds on the GPU from one event to the next; waits for both.
inline double microseconds_between(const Event& start, const Event& stop) {
  stop.synchronize();
  float milliseconds = 0;
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return 1e3 * static_cast<double>(milliseconds);
}

}  // namespace trainyard::cuda
