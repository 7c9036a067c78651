#pragma once
// The kernels of softmax: rows that fit into the registers of a group of threads, and rows that do not, or
// that are not whole 16-byte packs, which a block reads twice: the second time from the L2 cache.

#include "row_tile.cuh"

namespace trainyard::cuda {

template <typename T>
struct SoftmaxData {
  const T* y;   ///< backward only: forward's result
  const T* in;  ///< x, or dy
  T* out;       ///< y, or dx
};

template <typename T, int group>
__global__ void __launch_bounds__(RowTile<T, group>::block) softmax_forward(SoftmaxData<T> data, Rows rows) {
  using Tile = RowTile<T, group>;
  Tile::for_rows(rows, [&](std::int64_t row) {
    Tile tile;
    tile.load(data.in, rows, row);
    const bool is_row = row < rows.count;
    float x[tile_packs][Tile::size];
    float largest[1] = {Max::neutral};
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!is_row || !Tile::holds(k, rows)) continue;
      unpack(tile.packs[k], x[k]);
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) largest[0] = fmaxf(largest[0], x[k][v]);
    }
    group_reduce<Tile::block, group>(largest, Max{});
    float sum[1] = {};
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!is_row || !Tile::holds(k, rows)) continue;
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) {
        x[k][v] = __expf(x[k][v] - largest[0]);
        sum[0] += x[k][v];
      }
    }
    group_reduce<Tile::block, group>(sum, Sum{});
    if (!is_row) return;
    const float scale = 1.0F / sum[0];
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!Tile::holds(k, rows)) continue;
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) x[k][v] *= scale;
      Tile::store(data.out, rows, row, k, x[k]);
    }
  });
}

/// dx = y (dy - sum of y dy).
template <typename T, int group>
__global__ void __launch_bounds__(RowTile<T, group>::block) softmax_backward(SoftmaxData<T> data, Rows rows) {
  using Tile = RowTile<T, group>;
  Tile::for_rows(rows, [&](std::int64_t row) {
    Tile y_tile;
    Tile dy_tile;
    y_tile.load(data.y, rows, row);
    dy_tile.load(data.in, rows, row);
    const bool is_row = row < rows.count;
    float sum[1] = {};
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!is_row || !Tile::holds(k, rows)) continue;
      float y[Tile::size];
      float dy[Tile::size];
      unpack(y_tile.packs[k], y);
      unpack(dy_tile.packs[k], dy);
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) sum[0] += y[v] * dy[v];
    }
    group_reduce<Tile::block, group>(sum, Sum{});
    if (!is_row) return;
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!Tile::holds(k, rows)) continue;
      float y[Tile::size];
      float dy[Tile::size];
      unpack(y_tile.packs[k], y);
      unpack(dy_tile.packs[k], dy);
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) y[v] *= dy[v] - sum[0];
      Tile::store(data.out, rows, row, k, y);
    }
  });
}

inline constexpr int long_row_threads = 512;

/// Calls use(values of one or two operands, index in packs) for the thread's packs of a row, with several
/// loads under way at a time. `second` may be null if `operands` is 1.
template <int size, int operands, typename T, typename Use>
__device__ void for_row_packs(const T* first, const T* second, int packs, Use use) {
  constexpr int unroll = (size == 1 ? 8 : 4) / operands;
  for (int begin = static_cast<int>(threadIdx.x); begin < packs; begin += unroll * long_row_threads) {
    Pack<T, size> a[unroll];
    Pack<T, size> b[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int index = begin + u * long_row_threads;
      if (index >= packs) break;
      a[u] = as_packs<T, size>(first)[index];
      if constexpr (operands == 2) b[u] = as_packs<T, size>(second)[index];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int index = begin + u * long_row_threads;
      if (index >= packs) break;
      float x[operands][size];
      unpack(a[u], x[0]);
      if constexpr (operands == 2) unpack(b[u], x[1]);
      use(x, index);
    }
  }
}

/// The maximum and the sum of exponentials in one read: the sum is scaled whenever the maximum grows. Source:
/// Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867, section 3.
template <typename T, int size>
__global__ void __launch_bounds__(long_row_threads) long_softmax_forward(SoftmaxData<T> data, Rows rows) {
  const int packs = rows.width / size;
  for (std::int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const T* in = data.in + row * rows.width;
    float own = Max::neutral;
    float sum[1] = {};
    for_row_packs<size, 1>(in, in, packs, [&](const float(&x)[1][size], int) {
      float largest = own;
#pragma unroll
      for (int v = 0; v < size; ++v) largest = fmaxf(largest, x[0][v]);
      sum[0] *= __expf(own - largest);
      own = largest;
#pragma unroll
      for (int v = 0; v < size; ++v) sum[0] += __expf(x[0][v] - own);
    });
    float largest[1] = {own};
    block_reduce<long_row_threads>(largest, Max{});
    sum[0] *= __expf(own - largest[0]);
    block_reduce<long_row_threads>(sum, Sum{});
    const float scale = 1.0F / sum[0];
    T* out = data.out + row * rows.width;
    for_row_packs<size, 1>(in, in, packs, [&](const float(&x)[1][size], int index) {
      float y[size];
#pragma unroll
      for (int v = 0; v < size; ++v) y[v] = __expf(x[0][v] - largest[0]) * scale;
      as_packs<T, size>(out)[index] = packed<T>(y);
    });
  }
}

template <typename T, int size>
__global__ void __launch_bounds__(long_row_threads) long_softmax_backward(SoftmaxData<T> data, Rows rows) {
  const int packs = rows.width / size;
  for (std::int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const T* y = data.y + row * rows.width;
    const T* dy = data.in + row * rows.width;
    float sum[1] = {};
    for_row_packs<size, 2>(y, dy, packs, [&](const float(&x)[2][size], int) {
#pragma unroll
      for (int v = 0; v < size; ++v) sum[0] += x[0][v] * x[1][v];
    });
    block_reduce<long_row_threads>(sum, Sum{});
    T* out = data.out + row * rows.width;
    for_row_packs<size, 2>(y, dy, packs, [&](const float(&x)[2][size], int index) {
      float dx[size];
#pragma unroll
      for (int v = 0; v < size; ++v) dx[v] = x[0][v] * (x[1][v] - sum[0]);
      as_packs<T, size>(out)[index] = packed<T>(dx);
    });
  }
}

}  // namespace trainyard::cuda
