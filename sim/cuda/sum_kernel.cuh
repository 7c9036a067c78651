#pragma once
// The sum over a buffer, for reduction.cu and for the norms of optimizer.cu: every block sums a contiguous
// range, the last block to finish adds the blocks' sums in their order. One kernel, one read of the values,
// and the same result to the bit in every call.

#include "grid.cuh"
#include "group_reduce.cuh"
#include "reference.hpp"
#include "vector_types.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::cuda {

inline constexpr int sum_threads = 256;

/// Block b sums the values from b * chunk up to the next block's first.
struct SumLayout {
  std::int64_t elements = 0;
  std::int64_t chunk = 0;
  int blocks = 0;
};

/// Where a sum goes: a value per block, the total, and a counter that is 0 before and after.
struct SumResult {
  float* of_blocks = nullptr;
  float* total = nullptr;
  unsigned* counter = nullptr;
};

struct Itself {
  __device__ float operator()(float value) const { return value; }
};
struct Square {
  __device__ float operator()(float value) const { return value * value; }
};

/// The sum of map(value) over one block's range, per thread.
template <typename T, typename Map>
__device__ float thread_sum(const T* values, const SumLayout& layout, Map map) {
  constexpr int size = pack_size<T>;
  constexpr int unroll = 4;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * layout.chunk;
  const std::int64_t end = min(begin + layout.chunk, layout.elements);
  const std::int64_t packs = (end - begin) / size;
  const Pack<T, size>* from = as_packs(values + begin);
  float sums[size] = {};
  for (std::int64_t first = threadIdx.x; first < packs; first += unroll * sum_threads) {
    Pack<T, size> in[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * sum_threads < packs) in[u] = from[first + u * sum_threads];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * sum_threads >= packs) break;
      float x[size];
      unpack(in[u], x);
#pragma unroll
      for (int v = 0; v < size; ++v) sums[v] += map(x[v]);
    }
  }
  const std::int64_t tail = begin + packs * size + threadIdx.x;
  float sum = tail < end ? map(to_float(values[tail])) : 0.0F;
#pragma unroll
  for (int v = 0; v < size; ++v) sum += sums[v];
  return sum;
}

template <typename T, typename Map>
__global__ void __launch_bounds__(sum_threads)
    sum_kernel(const T* values, SumLayout layout, SumResult result, Map map) {
  float sum[1] = {thread_sum(values, layout, map)};
  block_reduce<sum_threads>(sum, Sum{});
  if (threadIdx.x == 0) result.of_blocks[blockIdx.x] = sum[0];
  if (!is_last_block(result.counter, gridDim.x)) return;
  sum[0] = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += sum_threads) {
    sum[0] += __ldcg(result.of_blocks + block);
  }
  block_reduce<sum_threads>(sum, Sum{});
  if (threadIdx.x == 0) *result.total = sum[0];
}

/// The ranges that launch_sum gives its blocks: as many as run at once.
template <typename T, typename Map>
SumLayout sum_layout(std::int64_t elements, Map) {
  constexpr std::int64_t step = sum_threads * pack_size<T>;
  const std::int64_t wanted = grid_blocks(sum_kernel<T, Map>, sum_threads, divide_up(elements, step), 1);
  const std::int64_t chunk = divide_up(divide_up(elements, wanted), step) * step;
  return {elements, chunk, static_cast<int>(divide_up(elements, chunk))};
}

/// Enqueues the sum of map(value) over `values`, which starts at a multiple of 16 bytes.
template <typename T, typename Map>
void launch_sum(const T* values, const SumLayout& layout, const SumResult& result, Map map,
                cudaStream_t stream) {
  sum_kernel<<<static_cast<unsigned>(layout.blocks), sum_threads, 0, stream>>>(values, layout, result, map);
  CHECK_CUDA(cudaGetLastError());
}

/// Compares sums that have ended with the reference: those of some blocks with the sum of `term` over their
/// ranges, as many as about `most_terms` terms allow, and the total with the sum of all blocks'.
inline void compare_sum(ReferenceCheck& check, const SumLayout& layout, const std::vector<float>& of_blocks,
                        double total, const std::function<double(std::uint64_t)>& term,
                        std::int64_t most_terms = 1 << 21) {
  const auto samples = static_cast<int>(std::clamp<std::int64_t>(most_terms / layout.chunk, 1, 16));
  for (const std::uint64_t block : sample_positions(static_cast<std::uint64_t>(layout.blocks), samples)) {
    const auto begin = static_cast<std::int64_t>(block) * layout.chunk;
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t i = begin; i < std::min(begin + layout.chunk, layout.elements); ++i) {
      const double value = term(static_cast<std::uint64_t>(i));
      sum += value;
      magnitude += std::abs(value);
    }
    check.compare(block, of_blocks[block], sum, magnitude);
  }
  double sum = 0;
  double magnitude = 0;
  for (const float value : of_blocks) {
    sum += value;
    magnitude += std::abs(value);
  }
  check.compare(static_cast<std::uint64_t>(layout.blocks), total, sum, magnitude);
}

}  // namespace trainyard::cuda
