#pragma once
// The kernels of layer normalisation. The mathematics: Ba, Kiros and Hinton, "Layer normalization",
// arXiv:1607.06450, section 3.

#include "row_tile.cuh"

namespace trainyard::cuda {

inline constexpr float layer_norm_epsilon = 1e-5F;

template <typename T>
struct LayerNormData {
  const T* x;
  const T* dy;  ///< backward only
  T* out;       ///< y, or dx
  const float* gamma;
  const float* beta;
  float* mean;      ///< per row; written by forward, read by backward
  float* inv_std;   ///< likewise
  float* partials;  ///< [block][dgamma or dbeta][width]
};

/// Mean, then the mean square of the differences from it: both from registers.
template <typename T, int group>
__global__ void __launch_bounds__(RowTile<T, group>::block)
    layer_norm_forward(LayerNormData<T> data, Rows rows) {
  using Tile = RowTile<T, group>;
  const float part = 1.0F / static_cast<float>(rows.width);
  Tile::for_rows(rows, [&](std::int64_t row) {
    Tile tile;
    tile.load(data.x, rows, row);
    const bool is_row = row < rows.count;
    float x[tile_packs][Tile::size];
    float sum[1] = {};
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!is_row || !Tile::holds(k, rows)) continue;
      unpack(tile.packs[k], x[k]);
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) sum[0] += x[k][v];
    }
    group_reduce<Tile::block, group>(sum, Sum{});
    const float mean = sum[0] * part;
    sum[0] = 0;
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!is_row || !Tile::holds(k, rows)) continue;
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) sum[0] += (x[k][v] - mean) * (x[k][v] - mean);
    }
    group_reduce<Tile::block, group>(sum, Sum{});
    if (!is_row) return;
    const float inv_std = 1.0F / sqrtf(sum[0] * part + layer_norm_epsilon);
    if (Tile::lane() == 0) {
      data.mean[row] = mean;
      data.inv_std[row] = inv_std;
    }
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!Tile::holds(k, rows)) continue;
      const auto gamma = as_packs<float, Tile::size>(data.gamma)[Tile::index(k)];
      const auto beta = as_packs<float, Tile::size>(data.beta)[Tile::index(k)];
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) {
        x[k][v] = (x[k][v] - mean) * inv_std * gamma.values[v] + beta.values[v];
      }
      Tile::store(data.out, rows, row, k, x[k]);
    }
  });
}

/// What a thread holds of a block's share of dgamma and dbeta.
template <int size>
struct ColumnSums {
  float sums[2][tile_packs][size] = {};
};

/// Adds up a block's groups and writes the sums as the block's row of partial sums.
template <typename Tile>
__device__ void write_partials(float* partials, const Rows& rows, const ColumnSums<Tile::size>& columns) {
  constexpr int most = Tile::groups == 1 ? 1 : Tile::group * tile_packs * Tile::size;
  __shared__ float of_block[2][most];
  float* to = partials + static_cast<std::int64_t>(blockIdx.x) * 2 * rows.width;
#pragma unroll 1
  for (int group = 0; group < Tile::groups; ++group) {  // one after the other
    const bool is_turn = static_cast<int>(threadIdx.x) / Tile::group == group;
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!is_turn || !Tile::holds(k, rows)) continue;
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) {
        const int column = Tile::index(k) * Tile::size + v;
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          const float sum = columns.sums[which][k][v];
          if constexpr (Tile::groups == 1) {
            to[which * rows.width + column] = sum;
          } else {
            of_block[which][column] = group == 0 ? sum : of_block[which][column] + sum;
          }
        }
      }
    }
    if constexpr (Tile::groups > 1) __syncthreads();
  }
  if constexpr (Tile::groups > 1) {
    for (int column = static_cast<int>(threadIdx.x); column < rows.width; column += Tile::block) {
      to[column] = of_block[0][column];
      to[rows.width + column] = of_block[1][column];
    }
  }
}

/// With g = dy gamma and h = (x - mean) inv_std: dx = inv_std (g - mean(g) - h mean(g h)), and per column
/// dgamma = sum dy h, dbeta = sum dy, gathered over the rows that a block sees.
template <typename T, int group>
__global__ void __launch_bounds__(RowTile<T, group>::block)
    layer_norm_backward(LayerNormData<T> data, Rows rows) {
  using Tile = RowTile<T, group>;
  const float part = 1.0F / static_cast<float>(rows.width);
  ColumnSums<Tile::size> columns;
  Tile::for_rows(rows, [&](std::int64_t row) {
    Tile x_tile;
    Tile dy_tile;
    x_tile.load(data.x, rows, row);
    dy_tile.load(data.dy, rows, row);
    const bool is_row = row < rows.count;
    const float mean = is_row ? data.mean[row] : 0.0F;
    const float inv_std = is_row ? data.inv_std[row] : 0.0F;
    float sums[2] = {};
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!is_row || !Tile::holds(k, rows)) continue;
      float x[Tile::size];
      float dy[Tile::size];
      unpack(x_tile.packs[k], x);
      unpack(dy_tile.packs[k], dy);
      const auto gamma = as_packs<float, Tile::size>(data.gamma)[Tile::index(k)];
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) {
        const float h = (x[v] - mean) * inv_std;
        const float g = dy[v] * gamma.values[v];
        sums[0] += g;
        sums[1] += g * h;
        columns.sums[0][k][v] += dy[v] * h;
        columns.sums[1][k][v] += dy[v];
      }
    }
    group_reduce<Tile::block, group>(sums, Sum{});
    if (!is_row) return;
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!Tile::holds(k, rows)) continue;
      float x[Tile::size];
      float dy[Tile::size];
      unpack(x_tile.packs[k], x);
      unpack(dy_tile.packs[k], dy);
      const auto gamma = as_packs<float, Tile::size>(data.gamma)[Tile::index(k)];
#pragma unroll
      for (int v = 0; v < Tile::size; ++v) {
        const float h = (x[v] - mean) * inv_std;
        x[v] = inv_std * (dy[v] * gamma.values[v] - (sums[0] + h * sums[1]) * part);
      }
      Tile::store(data.out, rows, row, k, x);
    }
  });
  write_partials<Tile>(data.partials, rows, columns);
}

inline constexpr int fold_columns = 32;
inline constexpr int fold_rows = 32;

/// result[column] = the sum over `blocks` rows of `columns` partial sums each. A block of fold_columns x
/// fold_rows threads for fold_columns columns.
static __global__ void __launch_bounds__(fold_columns* fold_rows)
    fold_partials(const float* partials, int blocks, int columns, float* result) {
  __shared__ float of_rows[fold_rows][fold_columns];
  const int column = static_cast<int>(blockIdx.x) * fold_columns + static_cast<int>(threadIdx.x);
  float sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (int block = static_cast<int>(threadIdx.y); block < blocks; block += fold_rows) {
      sum += partials[static_cast<std::int64_t>(block) * columns + column];
    }
  }
  of_rows[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int row = 1; row < fold_rows; ++row) sum += of_rows[row][threadIdx.x];
  result[column] = sum;
}

}  // namespace trainyard::cuda
