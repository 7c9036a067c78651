#pragma once
// Batch normalisation of [row][channel], a row being one place of one image. A thread keeps to the same few
// neighbouring channels and goes from row to row; a block works on a tile of channels and a range of rows.

#include "batch_norm.cuh"
#include "grid.cuh"
#include "group_reduce.cuh"

#include <algorithm>

namespace trainyard::cuda {

inline constexpr int nhwc_threads = 512;

struct NhwcLayout {
  int channels;
  int columns;         ///< packs that a tile is wide, a power of two up to 32
  int tiles;           ///< next to each other
  int splits;          ///< blocks per tile
  std::int64_t rows;   ///< values per channel
  std::int64_t chunk;  ///< rows of one block
};

/// Where a thread works.
template <int size>
struct NhwcPlace {
  __device__ explicit NhwcPlace(const NhwcLayout& layout)
      : channel(
            (static_cast<int>(blockIdx.x) * layout.columns + static_cast<int>(threadIdx.x) % layout.columns) *
            size),
        is_inside(channel < layout.channels),
        step(nhwc_threads / layout.columns),
        begin(blockIdx.y * layout.chunk + static_cast<int>(threadIdx.x) / layout.columns),
        end(min((blockIdx.y + 1) * layout.chunk, layout.rows)) {}

  int channel;         ///< its first one
  bool is_inside;      ///< the last tile may be wider than what is left
  int step;            ///< rows of a block at a time
  std::int64_t begin;  ///< its rows: begin, begin + step ... below end
  std::int64_t end;
};

/// Calls use(x, dy, offset in values) for the thread's packs, with several loads under way at a time.
template <typename Direction, int unroll, int size, typename T, typename Use>
__device__ void for_packs(const BatchNormData<T>& data, const NhwcLayout& layout,
                          const NhwcPlace<size>& place, Use use) {
  if (!place.is_inside) return;
  for (std::int64_t first = place.begin; first < place.end; first += unroll * place.step) {
    Pack<T, size> x[unroll];
    Pack<T, size> dy[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t row = first + u * place.step;
      if (row >= place.end) continue;
      x[u] = *as_packs<T, size>(data.x + row * layout.channels + place.channel);
      if constexpr (Direction::reads_gradient) {
        dy[u] = *as_packs<T, size>(data.dy + row * layout.channels + place.channel);
      }
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t row = first + u * place.step;
      if (row >= place.end) break;
      float x_values[size];
      float dy_values[size] = {};
      unpack(x[u], x_values);
      if constexpr (Direction::reads_gradient) unpack(dy[u], dy_values);
      use(x_values, dy_values, row * layout.channels + place.channel);
    }
  }
}

/// Adds up what the threads of a column hold and writes it as the block's partial sums. All threads of the
/// block must call it together.
template <int size, typename T>
__device__ void write_partials(const BatchNormData<T>& data, const NhwcLayout& layout,
                               const NhwcPlace<size>& place, const float (&sums)[2][size]) {
  __shared__ float of_threads[2 * size][nhwc_threads];
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int v = 0; v < size; ++v) {
    of_threads[v][thread] = sums[0][v];
    of_threads[size + v][thread] = sums[1][v];
  }
  for (int half = nhwc_threads / 2; half >= layout.columns; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
#pragma unroll
    for (int i = 0; i < 2 * size; ++i) of_threads[i][thread] += of_threads[i][thread + half];
  }
  if (thread >= layout.columns || !place.is_inside) return;  // the others' sums are now in these
  float2* to = data.partials + static_cast<std::int64_t>(blockIdx.y) * layout.channels + place.channel;
#pragma unroll
  for (int v = 0; v < size; ++v) to[v] = {of_threads[v][thread], of_threads[size + v][thread]};
}

/// The last block of a tile adds up the partial sums of its channels, a group of threads for each, and
/// finishes them. All threads of the block must call it together.
template <typename Direction, int size, typename T>
__device__ void finish_tile(const BatchNormData<T>& data, const NhwcLayout& layout) {
  __shared__ float2 of_threads[nhwc_threads];
  const int thread = static_cast<int>(threadIdx.x);
  const int width = layout.columns * size;  // channels of a tile, a power of two, at most 256
  const int channel = static_cast<int>(blockIdx.x) * width + thread % width;
  const int groups = nhwc_threads / width;
  float2 sums = {0, 0};
  if (channel < layout.channels) {
#pragma unroll 8
    for (int split = thread / width; split < layout.splits; split += groups) {
      const float2 partial =
          __ldcg(data.partials + static_cast<std::int64_t>(split) * layout.channels + channel);
      sums.x += partial.x;
      sums.y += partial.y;
    }
  }
  of_threads[thread] = sums;
  __syncthreads();
  if (thread >= width || channel >= layout.channels) return;
  for (int group = 1; group < groups; ++group) {
    sums.x += of_threads[thread + group * width].x;
    sums.y += of_threads[thread + group * width].y;
  }
  Direction::finish(data, channel, Direction::centre(data, channel, data.x[channel]), sums);
}

template <typename Direction, int size, typename T>
__global__ void __launch_bounds__(nhwc_threads, 2) nhwc_sums(BatchNormData<T> data, NhwcLayout layout) {
  const NhwcPlace<size> place(layout);
  float centre[size] = {};
#pragma unroll
  for (int v = 0; v < size; ++v) {
    if (!place.is_inside) break;
    centre[v] = Direction::centre(data, place.channel + v, data.x[place.channel + v]);
  }
  float sums[2][size] = {};
  for_packs<Direction, Direction::reads_gradient ? 2 : 4>(
      data, layout, place, [&](const float(&x)[size], const float(&dy)[size], std::int64_t) {
#pragma unroll
        for (int v = 0; v < size; ++v) {
          Direction::accumulate(x[v], dy[v], centre[v], sums[0][v], sums[1][v]);
        }
      });
  write_partials(data, layout, place, sums);
  if (is_last_block(data.counters + blockIdx.x, gridDim.y)) {
    finish_tile<Direction, size>(data, layout);
  }
}

template <typename Direction, int size, typename T>
__global__ void __launch_bounds__(nhwc_threads, 2) nhwc_apply(BatchNormData<T> data, NhwcLayout layout) {
  const NhwcPlace<size> place(layout);
  float4 coefficients[size] = {};
#pragma unroll
  for (int v = 0; v < size; ++v) {
    if (place.is_inside) coefficients[v] = data.channel.coefficients[place.channel + v];
  }
  for_packs<Direction, Direction::reads_gradient ? 1 : 2>(
      data, layout, place, [&](const float(&x)[size], const float(&dy)[size], std::int64_t offset) {
        float out[size];
#pragma unroll
        for (int v = 0; v < size; ++v) {
          out[v] = normalised<Direction>(x[v], dy[v], coefficients[v]);
        }
        *as_packs<T, size>(data.out + offset) = packed<T>(out);
      });
}

/// One wave of blocks (each of them must be gathered at the end), and at least four rows for each thread
/// where there are so many.
template <typename Direction, int size, typename T>
NhwcLayout nhwc_layout(int channels, std::int64_t rows) {
  const int packs = channels / size;
  int columns = 1;
  while (columns < packs && columns < 32) columns *= 2;
  const auto tiles = static_cast<int>(divide_up(packs, columns));
  const std::int64_t blocks = resident_blocks(nhwc_sums<Direction, size, T>, nhwc_threads);
  const std::int64_t most = divide_up(rows, 4 * (nhwc_threads / columns));
  const std::int64_t splits =
      std::clamp<std::int64_t>(blocks / tiles, 1, std::min<std::int64_t>(most, 65535));
  const std::int64_t chunk = divide_up(rows, splits);
  return {channels, columns, tiles, static_cast<int>(divide_up(rows, chunk)), rows, chunk};
}

/// Enqueues both kernels.
template <typename Direction, int size, typename T>
void launch_nhwc(const BatchNormData<T>& data, const NhwcLayout& layout, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(layout.tiles), static_cast<unsigned>(layout.splits));
  nhwc_sums<Direction, size><<<blocks, nhwc_threads, 0, stream>>>(data, layout);
  CHECK_CUDA(cudaGetLastError());
  nhwc_apply<Direction, size><<<blocks, nhwc_threads, 0, stream>>>(data, layout);
  CHECK_CUDA(cudaGetLastError());
}

}  // namespace trainyard::cuda
