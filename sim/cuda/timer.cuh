#pragma once
// Times work on a stream with CUDA events; used for every measurement.

#include "measurement.hpp"

#include <cuda_runtime.h>
#include <functional>

namespace trainyard::cuda {

struct Timing {
  double median_us = 0;  ///< per call
  double spread_us = 0;  ///< interquartile range per call
  int repetitions = 0;   ///< event pairs
};

/// Enqueues one call on the stream. `repetition` counts all calls from 0, including warm-up, and selects the
/// buffers (rotation.cuh).
using Launch = std::function<void(int repetition, cudaStream_t stream)>;

/// Treatment of the host's part.
enum class HostPart {
  hidden,  ///< the GPU waits until the host has enqueued a batch: only the GPU's time is measured
  timed    ///< nothing waits: the host's work between the events counts, as for a pageable copy
};

/// Three warm-up calls, then at least 10 repetitions and more until 0.1 s or 100 of them. A repetition is one
/// event pair around enough calls to take at least 50 us (at most 50 calls), so that the resolution of events
/// (0.5 us) does not matter. With HostPart::hidden a kernel that only waits runs before each batch, so that
/// kernels shorter than their launch are timed back to back and not at the host's pace. Returns when the
/// stream is idle. Throws CudaError, and the exceptions of `launch`.
Timing time_on_gpu(const Launch& launch, cudaStream_t stream, HostPart host = HostPart::hidden);

/// The same as the row of a recording.
Measurement to_measurement(const Timing& timing);

}  // namespace trainyard::cuda
