// Dropout in training: a value is kept with probability 0.9 and scaled by 1/0.9, or set to 0. Traffic: one
// read, one write, and a byte of mask written per value, as frameworks keep it for backward.

#include "grid.cuh"
#include "philox.hpp"
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
constexpr int unroll = 2;

constexpr std::uint64_t key = 0x6b657970;
constexpr std::uint32_t draws = 65536;  // 16 bits decide: one block of Philox serves eight 2-byte values
constexpr std::uint32_t dropped_below = 6554;
constexpr double kept_fraction = static_cast<double>(draws - dropped_below) / draws;

/// The draw of value `i` of a pack of `size` from the pack's 128 bits.
TRAINYARD_HOST_DEVICE inline std::uint32_t draw_of(const RandomWords& random, int i, int size) {
  const int per_word = size / 4;
  return random.word[i / per_word] >> (16U * static_cast<unsigned>(i % per_word)) & 0xffffU;
}

template <typename T>
struct Pointers {
  const T* in;
  T* out;
  unsigned char* mask;
};

__device__ float scaled(float value, bool is_kept) {
  constexpr float scale = 1 / kept_fraction;
  return is_kept ? value * scale : 0.0F;
}

template <typename T>
__global__ void __launch_bounds__(threads)
    dropout(Pointers<T> data, std::int64_t elements, std::uint64_t sequence) {
  constexpr int size = pack_size<T>;
  const std::int64_t packs = elements / size;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  for (std::int64_t first = thread; first < packs; first += unroll * step) {
    Pack<T, size> in[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * step < packs) in[u] = as_packs(data.in)[first + u * step];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t index = first + u * step;
      if (index >= packs) break;
      const RandomWords random = philox(static_cast<std::uint64_t>(index), sequence, key);
      float values[size];
      unpack(in[u], values);
      Pack<unsigned char, size> mask;
#pragma unroll
      for (int v = 0; v < size; ++v) {
        const bool is_kept = draw_of(random, v, size) >= dropped_below;
        values[v] = scaled(values[v], is_kept);
        mask.values[v] = is_kept ? 1 : 0;
      }
      as_packs(data.out)[index] = packed<T>(values);
      as_packs<unsigned char, size>(data.mask)[index] = mask;
    }
  }
  const std::int64_t tail = packs * size + thread;
  if (tail < elements) {
    const RandomWords random = philox(static_cast<std::uint64_t>(packs), sequence, key);
    const bool is_kept = draw_of(random, static_cast<int>(thread), size) >= dropped_below;
    data.out[tail] = from_float<T>(scaled(to_float(data.in[tail]), is_kept));
    data.mask[tail] = is_kept ? 1 : 0;
  }
}

struct Operands {
  ColdBuffers in;
  ColdBuffers out;
  ColdBuffers mask;
};

std::shared_ptr<const Operands> make_operands(const VectorWork& work) {
  const auto elements = static_cast<std::size_t>(work.elements);
  const std::size_t bytes = elements * size_of(work.dtype);
  const int copies = cold_copies(2 * bytes + elements);
  auto made = std::make_shared<Operands>();
  made->in = ColdBuffers(bytes, copies);
  fill_random(made->in, work.dtype, 0);
  made->out = ColdBuffers(bytes, copies);
  made->mask = ColdBuffers(elements, copies);
  return made;
}

Launch launch_of(const VectorWork& work, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(work.dtype, [&](auto tag) -> Launch {
    using T = typename decltype(tag)::type;
    const std::int64_t elements = work.elements;
    const unsigned blocks = grid_blocks(dropout<T>, threads, divide_up(elements, pack_size<T> * threads));
    return [=](int repetition, cudaStream_t stream) {
      const Pointers<T> data{operands->in.as<T>(repetition), operands->out.as<T>(repetition),
                             operands->mask.as<unsigned char>(repetition)};
      dropout<T><<<blocks, threads, 0, stream>>>(data, elements, static_cast<std::uint64_t>(repetition));
      CHECK_CUDA(cudaGetLastError());
    };
  });
}

/// The kept part of the first values is what it should be, within six standard deviations.
void check_kept_fraction(const Operands& operands, std::size_t elements) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  std::vector<unsigned char> mask(std::min(elements, most));
  read_back(mask.data(), operands.mask[0], mask.size());
  const auto count = static_cast<double>(mask.size());
  const double kept = static_cast<double>(std::count(mask.begin(), mask.end(), 1)) / count;
  const double deviation = std::sqrt(kept_fraction * (1 - kept_fraction) / count);
  if (!(std::abs(kept - kept_fraction) <= 6 * deviation)) {
    throw WrongResult("dropout kept " + std::to_string(kept) + " of the values, not " +
                      std::to_string(kept_fraction));
  }
}

double largest_error(const VectorWork& work, const Operands& operands) {
  const auto elements = static_cast<std::uint64_t>(work.elements);
  check_kept_fraction(operands, elements);
  ReferenceCheck check("elementwise dropout", work.dtype);
  const auto size = static_cast<std::uint64_t>(16 / size_of(work.dtype));
  for (const std::uint64_t position : sample_positions(elements, 64)) {
    const RandomWords random = philox(position / size, 0, key);
    const bool is_kept =
        draw_of(random, static_cast<int>(position % size), static_cast<int>(size)) >= dropped_below;
    unsigned char mask = 0;
    read_back(&mask, static_cast<const unsigned char*>(operands.mask[0]) + position, 1);
    if (mask != (is_kept ? 1 : 0)) {
      throw WrongResult("dropout: the mask of value " + std::to_string(position) + " is not the reference's");
    }
    const double value = stored_value(work.dtype, 0, position);
    check.compare(position, value_at(operands.out[0], position, work.dtype),
                  is_kept ? value / kept_fraction : 0, std::abs(value));
  }
  return check.error();
}

}  // namespace

PreparedKernel prepare_dropout(const VectorWork& work) {
  const auto operands = make_operands(work);
  return {launch_of(work, operands), [=] { return largest_error(work, *operands); }};
}

}  // namespace trainyard::cuda
