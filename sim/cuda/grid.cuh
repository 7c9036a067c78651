#pragma once
// The number of blocks of a kernel.

#include "check_cuda.cuh"

#include <algorithm>
#include <cstdint>

namespace trainyard::cuda {

/// Streaming multiprocessors of the current GPU.
inline int sm_count() {
  int device = 0;
  int count = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  CHECK_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Number of blocks of this kernel that run at once on the whole GPU.
template <typename Kernel>
std::int64_t resident_blocks(Kernel* kernel, int threads) {
  int per_sm = 0;
  CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, 0));
  return static_cast<std::int64_t>(std::max(1, per_sm)) * sm_count();
}

/// `wanted` blocks, at least 1, and at most `waves` times as many as run at once: the kernel's blocks loop
/// over the rest. Several waves let multiprocessors nearer to the memory take more; a whole number of waves
/// avoids idle multiprocessors at the end.
template <typename Kernel>
unsigned grid_blocks(Kernel* kernel, int threads, std::int64_t wanted, int waves = 8) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, waves * resident_blocks(kernel, threads)));
}

}  // namespace trainyard::cuda
