// A reduction: the sum of all values, in fp32. Traffic: each value is read once. Every block sums a range,
// the last block to end adds the blocks' sums in order: one kernel, and exactly the same result in every
// call.

#include "grid.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "vector_types.cuh"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace trainyard::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr std::uint64_t seed = 0;

/// Block b sums the values from b * chunk up to the next block's first.
struct Ranges {
  std::int64_t elements = 0, chunk = 0;
  int blocks = 0;
};

/// Places of the sums: a value per block, the total, and a counter that is 0 before and after.
struct Result {
  float* of_blocks = nullptr;
  float* total = nullptr;
  unsigned* counter = nullptr;
};

/// The sum over one block's range, per thread.
template <typename T>
__device__ float thread_sum(const T* values, const Ranges& ranges) {
  constexpr int unroll = 4;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * ranges.chunk;
  const std::int64_t end = min(begin + ranges.chunk, ranges.elements);
  const std::int64_t packs = (end - begin) / pack_size<T>;
  const Pack<T>* from = as_packs(values + begin);
  float sums[pack_size<T>] = {};
  for (std::int64_t first = threadIdx.x; first < packs; first += unroll * threads) {
    Pack<T> in[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * threads < packs) in[u] = from[first + u * threads];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * threads >= packs) break;
#pragma unroll
      for (int i = 0; i < pack_size<T>; ++i) sums[i] += static_cast<float>(in[u].values[i]);
    }
  }
  const std::int64_t tail = begin + packs * pack_size<T> + threadIdx.x;
  float sum = tail < end ? static_cast<float>(values[tail]) : 0.0F;
#pragma unroll
  for (int i = 0; i < pack_size<T>; ++i) sum += sums[i];
  return sum;
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

/// The sum of `value` over the block, in all its threads, always in the same order.
__device__ float block_sum(float value) {
  __shared__ float of_warps[warps];
  const unsigned lane = threadIdx.x % 32;
  value = warp_sum(value);
  __syncthreads();  // the previous call may still be reading
  if (lane == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  return warp_sum(lane < warps ? of_warps[lane] : 0.0F);
}

/// True in all threads of the last block to call it, when all earlier writes of the others are visible.
__device__ bool is_last_block(unsigned* counter) {
  __shared__ bool is_last;
  __threadfence();  // makes this thread's results visible to every block before the count
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(counter, 1U) == gridDim.x - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

template <typename T>
__global__ void __launch_bounds__(threads) sum(const T* values, Ranges ranges, Result result) {
  const float of_block = block_sum(thread_sum(values, ranges));
  if (threadIdx.x == 0) result.of_blocks[blockIdx.x] = of_block;
  if (!is_last_block(result.counter)) return;
  float of_thread = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += threads) {
    of_thread += __ldcg(result.of_blocks + block);
  }
  const float total = block_sum(of_thread);
  if (threadIdx.x == 0) *result.total = total;
}

/// As many ranges as blocks run at once.
template <typename T>
Ranges ranges_of(std::int64_t elements) {
  constexpr std::int64_t step = threads * pack_size<T>;
  const std::int64_t wanted = grid_blocks(sum<T>, threads, divide_up(elements, step), 1);
  const std::int64_t chunk = divide_up(divide_up(elements, wanted), step) * step;
  return {elements, chunk, static_cast<int>(divide_up(elements, chunk))};
}

struct Operands {
  ColdBuffers values;
  DeviceBuffer of_blocks, total, counter;
  Ranges ranges;
};

std::shared_ptr<const Operands> make_operands(Dtype dtype, std::int64_t elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(dtype);
  auto made = std::make_shared<Operands>();
  made->values = ColdBuffers(bytes, cold_copies(bytes));
  fill_random(made->values, dtype, seed);
  made->ranges =
      with_stored_type(dtype, [&](auto tag) { return ranges_of<typename decltype(tag)::type>(elements); });
  made->of_blocks = DeviceBuffer(static_cast<std::size_t>(made->ranges.blocks) * sizeof(float));
  made->total = DeviceBuffer(sizeof(float));
  made->counter = DeviceBuffer(sizeof(unsigned));
  fill_zero(made->counter.data(), made->counter.bytes());
  return made;
}

Launch launch_of(Dtype dtype, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(dtype, [&](auto tag) -> Launch {
    using T = typename decltype(tag)::type;
    return [=](int repetition, cudaStream_t stream) {
      const Result result{operands->of_blocks.as<float>(), operands->total.as<float>(),
                          operands->counter.as<unsigned>()};
      const auto blocks = static_cast<unsigned>(operands->ranges.blocks);
      sum<<<blocks, threads, 0, stream>>>(operands->values.as<const T>(repetition), operands->ranges, result);
      CHECK_CUDA(cudaGetLastError());
    };
  });
}

/// A sum, and the sum of the absolute values of its terms.
struct Expected {
  double value = 0, magnitude = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
  }
};

/// Checks the sums of some blocks, as many as about two million terms allow, and the total of all blocks'
/// sums.
double largest_error(Dtype dtype, const Operands& operands) {
  const Ranges& ranges = operands.ranges;
  std::vector<float> of_blocks(static_cast<std::size_t>(ranges.blocks));
  read_back(of_blocks.data(), operands.of_blocks.data(), of_blocks.size());
  ReferenceCheck check("reduction sum", Dtype::fp32);
  constexpr std::int64_t most_terms = 1 << 21;
  const auto samples = static_cast<int>(std::clamp<std::int64_t>(most_terms / ranges.chunk, 1, 16));
  for (const std::uint64_t block : sample_positions(of_blocks.size(), samples)) {
    const std::int64_t begin = static_cast<std::int64_t>(block) * ranges.chunk;
    Expected expected;
    for (std::int64_t i = begin; i < std::min(begin + ranges.chunk, ranges.elements); ++i) {
      expected.add(stored_value(dtype, seed, static_cast<std::uint64_t>(i)));
    }
    check.compare(block, of_blocks[block], expected.value, expected.magnitude);
  }
  Expected total;
  for (const float value : of_blocks) total.add(value);
  check.compare(of_blocks.size(), value_at(operands.total.data(), 0, Dtype::fp32), total.value,
                total.magnitude);
  return check.error();
}

}  // namespace

PreparedKernel prepare_sum(Dtype dtype, std::int64_t elements) {
  const auto operands = make_operands(dtype, elements);
  return {launch_of(dtype, operands), [=] { return largest_error(dtype, *operands); }};
}

}  // namespace trainyard::cuda
