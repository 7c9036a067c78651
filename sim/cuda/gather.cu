// A gather: rows of a table of 30,522 (the vocabulary of BERT), selected by random indices with even
// distribution. Traffic as the simulator counts an embedding: a row is read for every row that is written.
// The indices, 4 bytes per row, are small in comparison.

#include "grid.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

namespace trainyard::cuda {
namespace {

constexpr std::int64_t table_rows = 30522;
constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr std::uint64_t value_seed = 0;
constexpr std::uint64_t index_seed = 1;

/// The row of the table from which row `row` of the result comes.
TRAINYARD_HOST_DEVICE inline int table_row(std::uint64_t row) {
  return static_cast<int>(random_bits(index_seed, row) % static_cast<std::uint64_t>(table_rows));
}

__global__ void fill_indices(int* indices, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < count) indices[i] = table_row(static_cast<std::uint64_t>(i));
}

/// One warp copies a row of `words`.
template <typename Word>
__global__ void __launch_bounds__(threads)
    gather(const Word* table, const int* indices, Word* out, std::int64_t rows, int words) {
  constexpr int unroll = 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32; row < rows;
       row += step) {
    const Word* from = table + static_cast<std::int64_t>(indices[row]) * words;
    Word* to = out + row * words;
    for (int first = lane; first < words; first += 32 * unroll) {
      Word in[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        if (first + 32 * u < words) in[u] = from[first + 32 * u];
      }
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        if (first + 32 * u < words) to[first + 32 * u] = in[u];
      }
    }
  }
}

struct Operands {
  ColdBuffers table, result;
  DeviceBuffer indices;
  std::int64_t rows = 0;
  std::size_t row_bytes = 0;
};

std::shared_ptr<const Operands> make_operands(Dtype dtype, std::int64_t elements, int width) {
  auto made = std::make_shared<Operands>();
  made->rows = elements / width;
  made->row_bytes = static_cast<std::size_t>(width) * size_of(dtype);
  const std::size_t bytes = static_cast<std::size_t>(made->rows) * made->row_bytes;
  const std::size_t table_bytes = static_cast<std::size_t>(table_rows) * made->row_bytes;
  // a call reads at most as many bytes of the table as it writes, but each copy must fit completely
  const std::size_t fitting = std::max<std::size_t>(free_bytes() / 10 * 8 / (bytes + table_bytes), 1);
  const int wanted = cold_copies(bytes + std::min(bytes, table_bytes));
  const int copies = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(wanted), fitting));
  made->table = ColdBuffers(table_bytes, copies);
  made->result = ColdBuffers(bytes, copies);
  fill_random(made->table, dtype, value_seed);
  made->indices = DeviceBuffer(static_cast<std::size_t>(made->rows) * sizeof(int));
  const auto blocks = static_cast<unsigned>(divide_up(made->rows, threads));
  fill_indices<<<blocks, threads>>>(made->indices.as<int>(), made->rows);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  return made;
}

template <typename Word>
Launch launch_of(const std::shared_ptr<const Operands>& operands) {
  const unsigned blocks = grid_blocks(gather<Word>, threads, divide_up(operands->rows, warps));
  const int words = static_cast<int>(operands->row_bytes / sizeof(Word));
  return [=](int repetition, cudaStream_t stream) {
    gather<<<blocks, threads, 0, stream>>>(operands->table.as<const Word>(repetition),
                                           operands->indices.as<const int>(),
                                           operands->result.as<Word>(repetition), operands->rows, words);
    CHECK_CUDA(cudaGetLastError());
  };
}

double largest_error(Dtype dtype, std::int64_t elements, int width, const Operands& operands) {
  ReferenceCheck check("embedding forward", Dtype::fp32, dtype);
  const auto row_width = static_cast<std::uint64_t>(width);
  for (const std::uint64_t position : sample_positions(static_cast<std::uint64_t>(elements), 64)) {
    const auto row = static_cast<std::uint64_t>(table_row(position / row_width));
    const double expected = stored_value(dtype, value_seed, row * row_width + position % row_width);
    check.compare(position, value_at(operands.result[0], position, dtype), expected, std::abs(expected));
  }
  return check.error();
}

}  // namespace

PreparedKernel prepare_gather(Dtype dtype, std::int64_t elements, int width) {
  const auto operands = make_operands(dtype, elements, width);
  const bool is_whole_words = operands->row_bytes % sizeof(uint4) == 0;
  return {is_whole_words ? launch_of<uint4>(operands) : launch_of<std::uint16_t>(operands),
          [=] { return largest_error(dtype, elements, width, *operands); }};
}

}  // namespace trainyard::cuda
