#pragma once
// Sums and maxima over the threads of a group, and over all blocks of a kernel.

#include <cuda_runtime.h>

namespace trainyard::cuda {

struct Sum {
  static constexpr float neutral = 0;
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct Max {
  static constexpr float neutral = -3.402823466e38F;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Each of `values`, combined over the `group` neighbouring threads that a thread belongs to; all of them get
/// the result, always by the same tree. The block has `block` threads in x, a multiple of `group`; both are
/// powers of two, `block` at least 32. All threads of the block must call it together.
template <int block, int group, typename Combine, int count>
__device__ void group_reduce(float (&values)[count], Combine combine) {
  static_assert(block % 32 == 0 && block % group == 0 && block <= 1024);
  constexpr int lanes = group < 32 ? group : 32;
  constexpr unsigned whole_warp = 0xffffffffU;
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      values[i] = combine(values[i], __shfl_xor_sync(whole_warp, values[i], offset));
    }
  }
  if constexpr (group > 32) {
    constexpr int warps = group / 32;
    __shared__ float of_warps[count][block / 32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    __syncthreads();  // the call before may still be reading
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < count; ++i) of_warps[i][warp] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < count; ++i) {
      // every warp of the group combines its warps' results: lane l takes warp l modulo their number
      values[i] = of_warps[i][warp / warps * warps + lane % warps];
#pragma unroll
      for (int offset = warps / 2; offset > 0; offset /= 2) {
        values[i] = combine(values[i], __shfl_xor_sync(whole_warp, values[i], offset));
      }
    }
  }
}

/// The same over the whole block.
template <int block, typename Combine, int count>
__device__ void block_reduce(float (&values)[count], Combine combine) {
  group_reduce<block, block>(values, combine);
}

/// True in all threads of one of `blocks` blocks: the last to call it, when all that the others wrote before
/// calling can be read. `counter` must be 0 when the kernel starts, and is again when it ends. All threads of
/// a block must call it together, at most once per kernel.
__device__ inline bool is_last_block(unsigned* counter, unsigned blocks) {
  __shared__ bool is_last;
  __threadfence();  // this thread's results before the count, for every block
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(counter, 1U) == blocks - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

}  // namespace trainyard::cuda
