// A stream: result = a + b, value by value. Traffic: two reads and one write of every value.

#include "grid.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "vector_types.cuh"

#include <cmath>
#include <memory>

namespace trainyard::cuda {
namespace {

constexpr int threads = 256;
constexpr int unroll = 2;  // outstanding loads per thread and operand
constexpr std::uint64_t a_seed = 0;
constexpr std::uint64_t b_seed = 1;

template <typename T>
__device__ T sum_of(T a, T b) {
  return static_cast<T>(static_cast<float>(a) + static_cast<float>(b));
}

template <typename T>
__device__ Pack<T> sum_of(const Pack<T>& a, const Pack<T>& b) {
  Pack<T> sum;
#pragma unroll
  for (int i = 0; i < pack_size<T>; ++i) sum.values[i] = sum_of(a.values[i], b.values[i]);
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(threads) add(const T* a, const T* b, T* result, std::int64_t elements) {
  const std::int64_t packs = elements / pack_size<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  for (std::int64_t first = thread; first < packs; first += unroll * step) {
    Pack<T> from_a[unroll];
    Pack<T> from_b[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * step >= packs) break;
      from_a[u] = as_packs(a)[first + u * step];
      from_b[u] = as_packs(b)[first + u * step];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * step >= packs) break;
      as_packs(result)[first + u * step] = sum_of(from_a[u], from_b[u]);
    }
  }
  const std::int64_t tail = packs * pack_size<T> + thread;  // fewer than a pack: handled by the first threads
  if (tail < elements) result[tail] = sum_of(a[tail], b[tail]);
}

struct Operands {
  ColdBuffers a, b, result;
};

std::shared_ptr<const Operands> make_operands(Dtype dtype, std::int64_t elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(dtype);
  const int copies = cold_copies(3 * bytes);
  auto made = std::make_shared<Operands>();
  made->a = ColdBuffers(bytes, copies);
  made->b = ColdBuffers(bytes, copies);
  made->result = ColdBuffers(bytes, copies);
  fill_random(made->a, dtype, a_seed);
  fill_random(made->b, dtype, b_seed);
  return made;
}

Launch launch_of(Dtype dtype, std::int64_t elements, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(dtype, [&](auto tag) -> Launch {
    using T = typename decltype(tag)::type;
    const unsigned blocks = grid_blocks(add<T>, threads, divide_up(elements, pack_size<T> * threads));
    return [=](int repetition, cudaStream_t stream) {
      add<<<blocks, threads, 0, stream>>>(operands->a.as<const T>(repetition),
                                          operands->b.as<const T>(repetition),
                                          operands->result.as<T>(repetition), elements);
      CHECK_CUDA(cudaGetLastError());
    };
  });
}

double largest_error(Dtype dtype, std::int64_t elements, const Operands& operands) {
  ReferenceCheck check("elementwise add", dtype);
  for (const std::uint64_t position : sample_positions(static_cast<std::uint64_t>(elements))) {
    const double a = stored_value(dtype, a_seed, position);
    const double b = stored_value(dtype, b_seed, position);
    check.compare(position, value_at(operands.result[0], position, dtype), a + b, std::abs(a) + std::abs(b));
  }
  return check.error();
}

}  // namespace

PreparedKernel prepare_add(Dtype dtype, std::int64_t elements) {
  const auto operands = make_operands(dtype, elements);
  return {launch_of(dtype, elements, operands), [=] { return largest_error(dtype, elements, *operands); }};
}

}  // namespace trainyard::cuda
