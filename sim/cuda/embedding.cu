// An embedding's rows, gathered from a table of 30,522 (the vocabulary of BERT) by indices that are random
// and evenly spread. Traffic as the simulator counts it: forward reads a row for every row it writes.
// Backward writes the whole fp32 gradient of the table once, as zeros, which is timed (frameworks do it in
// every step), and reads the gradients that it adds to the table's rows by atomic additions; these additions
// themselves, reads and writes of the rows that occur, are not counted. The indices, 4 bytes per row, are
// small beside.

#include "grid.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "row_tile.cuh"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace trainyard::cuda {
namespace {

constexpr std::int64_t table_rows = 30522;
constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr std::uint64_t value_seed = 0;  // of the table, or of the gradients
constexpr std::uint64_t index_seed = 1;

/// The row of the table that row `row` of the result is.
TRAINYARD_HOST_DEVICE inline int table_row(std::uint64_t row) {
  return static_cast<int>(random_bits(index_seed, row) % static_cast<std::uint64_t>(table_rows));
}

__global__ void fill_indices(int* indices, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < count) indices[i] = table_row(static_cast<std::uint64_t>(i));
}

/// A warp per row, `size` values per load.
template <typename T, int size>
__global__ void __launch_bounds__(threads) gather(const T* table, const int* indices, T* out, Rows rows) {
  constexpr int unroll = 4;
  const int packs = rows.width / size;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32; row < rows.count;
       row += step) {
    const auto* from = as_packs<T, size>(table + static_cast<std::int64_t>(indices[row]) * rows.width);
    auto* to = as_packs<T, size>(out + row * rows.width);
    for (int first = lane; first < packs; first += 32 * unroll) {
      Pack<T, size> values[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        if (first + 32 * u < packs) values[u] = from[first + 32 * u];
      }
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        if (first + 32 * u < packs) to[first + 32 * u] = values[u];
      }
    }
  }
}

/// A warp per row; its lanes take neighbouring values, so that the L2 cache receives whole sectors to add.
template <typename T>
__global__ void __launch_bounds__(threads)
    scatter_add(const T* __restrict__ gradients, const int* __restrict__ indices, float* __restrict__ table,
                Rows rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32; row < rows.count;
       row += step) {
    const T* from = gradients + row * rows.width;
    float* to = table + static_cast<std::int64_t>(indices[row]) * rows.width;
#pragma unroll 8
    for (int i = lane; i < rows.width; i += 32) atomicAdd(to + i, to_float(from[i]));
  }
}

struct Operands {
  ColdBuffers table;   ///< or its gradient
  ColdBuffers values;  ///< what is gathered, or the gradients that are added
  DeviceBuffer indices;
  Rows rows;
};

std::shared_ptr<const Operands> make_operands(const VectorWork& work, bool is_backward) {
  auto made = std::make_shared<Operands>();
  made->rows = rows_of("embedding", work.elements, work.size);
  const std::size_t bytes = static_cast<std::size_t>(work.elements) * size_of(work.dtype);
  const std::size_t table_bytes =
      static_cast<std::size_t>(table_rows * work.size) * (is_backward ? sizeof(float) : size_of(work.dtype));
  // forward touches at most as much of the table as it writes
  const std::size_t touched = is_backward ? table_bytes : std::min(bytes, table_bytes);
  const std::size_t fitting = std::max<std::size_t>(free_bytes() / 10 * 8 / (bytes + table_bytes), 1);
  const int copies = static_cast<int>(std::min<std::size_t>(cold_copies(bytes + touched), fitting));
  made->table = ColdBuffers(table_bytes, copies);
  made->values = ColdBuffers(bytes, copies);
  fill_random(is_backward ? made->values : made->table, work.dtype, value_seed);
  made->indices = DeviceBuffer(static_cast<std::size_t>(made->rows.count) * sizeof(int));
  const auto blocks = static_cast<unsigned>(divide_up(made->rows.count, threads));
  fill_indices<<<blocks, threads>>>(made->indices.as<int>(), made->rows.count);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  return made;
}

template <typename T, int size>
Launch gather_launch(const std::shared_ptr<const Operands>& operands) {
  const unsigned blocks = grid_blocks(gather<T, size>, threads, divide_up(operands->rows.count, warps));
  return [=](int repetition, cudaStream_t stream) {
    gather<T, size><<<blocks, threads, 0, stream>>>(operands->table.as<T>(repetition),
                                                    operands->indices.as<int>(),
                                                    operands->values.as<T>(repetition), operands->rows);
    CHECK_CUDA(cudaGetLastError());
  };
}

template <typename T>
Launch scatter_launch(const std::shared_ptr<const Operands>& operands) {
  const unsigned blocks = grid_blocks(scatter_add<T>, threads, divide_up(operands->rows.count, warps));
  return [=](int repetition, cudaStream_t stream) {
    CHECK_CUDA(cudaMemsetAsync(operands->table[repetition], 0, operands->table.bytes(), stream));
    scatter_add<T><<<blocks, threads, 0, stream>>>(operands->values.as<T>(repetition),
                                                   operands->indices.as<int>(),
                                                   operands->table.as<float>(repetition), operands->rows);
    CHECK_CUDA(cudaGetLastError());
  };
}

Launch launch_of(Dtype dtype, bool is_backward, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (is_backward) return scatter_launch<T>(operands);
    return operands->rows.width % pack_size<T> == 0 ? gather_launch<T, pack_size<T>>(operands)
                                                    : gather_launch<T, 1>(operands);
  });
}

double forward_error(const VectorWork& work, const Operands& operands) {
  ReferenceCheck check("embedding forward", Dtype::fp32, work.dtype);
  const auto width = static_cast<std::uint64_t>(operands.rows.width);
  for (const std::uint64_t position : sample_positions(static_cast<std::uint64_t>(work.elements), 64)) {
    const auto row = static_cast<std::uint64_t>(table_row(position / width));
    const double expected = stored_value(work.dtype, value_seed, row * width + position % width);
    check.compare(position, value_at(operands.values[0], position, work.dtype), expected, std::abs(expected));
  }
  return check.error();
}

/// Values of some rows of the table's gradient: rows that occur, and the table's last one whether it does or
/// not.
double backward_error(const VectorWork& work, const Operands& operands) {
  ReferenceCheck check("embedding backward", Dtype::fp32);
  const auto width = static_cast<std::uint64_t>(operands.rows.width);
  const auto rows = static_cast<std::uint64_t>(operands.rows.count);
  std::vector<int> samples{static_cast<int>(table_rows) - 1};
  for (const std::uint64_t row : sample_positions(rows, 7)) samples.push_back(table_row(row));
  std::sort(samples.begin(), samples.end());
  samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  std::vector<std::vector<std::uint64_t>> sources(samples.size());  // rows of values that are added to each
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto found = std::lower_bound(samples.begin(), samples.end(), table_row(row));
    if (found == samples.end() || *found != table_row(row)) continue;
    sources[static_cast<std::size_t>(found - samples.begin())].push_back(row);
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const std::uint64_t column : sample_positions(width, 4)) {
      double sum = 0;
      double magnitude = 0;
      for (const std::uint64_t row : sources[i]) {
        const double value = stored_value(work.dtype, value_seed, row * width + column);
        sum += value;
        magnitude += std::abs(value);
      }
      const std::uint64_t position = static_cast<std::uint64_t>(samples[i]) * width + column;
      check.compare(position, value_at(operands.table[0], position, Dtype::fp32), sum, magnitude);
    }
  }
  return check.error();
}

}  // namespace

PreparedKernel prepare_embedding(const VectorWork& work) {
  const bool is_backward = work.variant == "backward";
  if (!is_backward && work.variant != "forward") {
    throw MeasurementFailed("embedding has no direction '" + work.variant + "'");
  }
  const auto operands = make_operands(work, is_backward);
  return {launch_of(work.dtype, is_backward, operands),
          [=] { return is_backward ? backward_error(work, *operands) : forward_error(work, *operands); }};
}

}  // namespace trainyard::cuda
