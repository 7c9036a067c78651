#include "statistics.hpp"
#include "stream.cuh"
#include "timer.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace trainyard::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Keeps the stream busy for this number of clocks of its SM. It waits only for time, never for the host or
/// another kernel, so it ends whatever else is serialised or synchronised meanwhile. Unsigned: if it moved to
/// an SM whose clock is behind, the difference would be huge and end it at once.
__global__ void wait_for(unsigned long long clocks) {
  const auto start = static_cast<unsigned long long>(clock64());
  while (static_cast<unsigned long long>(clock64()) - start < clocks) {
  }
}

/// Times batches of calls on one stream.
class Batches {
public:
  Batches(const Launch& launch, cudaStream_t stream, HostPart host)
      : launch_(launch), stream_(stream), host_(host) {
    int device = 0;
    CHECK_CUDA(cudaGetDevice(&device));
    CHECK_CUDA(cudaDeviceGetAttribute(&clock_khz_, cudaDevAttrClockRate, device));
  }

  /// Microseconds per call of one batch.
  double time(int calls) {
    if (host_ == HostPart::hidden) hold_stream(calls);
    start_.record(stream_);
    const Clock::time_point enqueuing = Clock::now();
    for (int i = 0; i < calls; ++i) launch_(next_++, stream_);
    host_us_per_call_ = microseconds_since(enqueuing) / calls;
    stop_.record(stream_);
    return microseconds_between(start_, stop_) / calls;
  }

  /// One call without timing: libraries load their kernels with it.
  void first() {
    launch_(next_++, stream_);
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  }

private:
  /// Long enough for the host to enqueue the batch, estimated from the previous batch; short enough not to
  /// matter if `launch` itself waits for the GPU.
  void hold_stream(int calls) {
    const double us = std::min(20 + 1.5 * host_us_per_call_ * calls, 5000.0);
    wait_for<<<1, 1, 0, stream_>>>(static_cast<unsigned long long>(us * clock_khz_ / 1e3));
    CHECK_CUDA(cudaGetLastError());
  }

  const Launch& launch_;
  cudaStream_t stream_;
  HostPart host_;
  Event start_;
  Event stop_;
  int clock_khz_ = 0;
  int next_ = 0;
  double host_us_per_call_ = 50;  // a guess for the first batch
};

int calls_for(double us_per_call) {
  constexpr double long_enough_us = 50;
  constexpr double most = 50;
  return static_cast<int>(std::clamp(std::ceil(long_enough_us / std::max(us_per_call, 1e-3)), 1.0, most));
}

}  // namespace

Timing time_on_gpu(const Launch& launch, cudaStream_t stream, HostPart host) {
  Batches batches(launch, stream, host);
  batches.first();
  int calls = calls_for(batches.time(2));
  // two calls that both wait for their launch seem longer than they are
  if (calls > 1) calls = calls_for(batches.time(calls));

  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (times.size() < 10 || (times.size() < 100 && microseconds_since(start) < 1e5)) {
    times.push_back(batches.time(calls));
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  return {.median_us = median(times),
          .spread_us = interquartile_range(times),
          .repetitions = static_cast<int>(times.size())};
}

Measurement to_measurement(const Timing& timing) {
  return {.time_us = timing.median_us, .spread_us = timing.spread_us, .repetitions = timing.repetitions};
}

}  // namespace trainyard::cuda
