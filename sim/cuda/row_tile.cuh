#pragma once
// Rows that a group of threads holds in registers, for the ops that need a row's sum before they can write
// its first value: one read of the row from memory instead of two or three.

#include "grid.cuh"
#include "group_reduce.cuh"
#include "measurement.hpp"
#include "vector_types.cuh"

#include <cstdint>
#include <string>
#include <type_traits>

namespace trainyard::cuda {

inline constexpr int tile_packs = 4;  ///< that a thread holds of a row, at most

struct Rows {
  std::int64_t count = 0;
  int width = 0;
};

/// `elements` values in rows of `width`. `op` begins the message of the MeasurementFailed that it throws
/// where they do not fill whole rows.
inline Rows rows_of(const std::string& op, std::int64_t elements, int width) {
  if (width < 1 || elements < width || elements % width != 0) {
    throw MeasurementFailed(op + ": " + std::to_string(elements) + " values do not fill rows of " +
                            std::to_string(width));
  }
  return {elements / width, width};
}

/// A block of one or several groups, each of which takes the next row in turn.
template <typename T, int group_>
struct RowTile {
  static constexpr int group = group_;
  static constexpr int block = group < 128 ? 128 : group;
  static constexpr int groups = block / group;
  static constexpr int size = pack_size<T>;

  Pack<T, size> packs[tile_packs];

  /// Which pack of the row the thread's k-th is.
  __device__ static int index(int k) { return static_cast<int>(threadIdx.x) % group + k * group; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % group; }
  __device__ static bool holds(int k, const Rows& rows) { return index(k) * size < rows.width; }

  __device__ void load(const T* values, const Rows& rows, std::int64_t row) {
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (row < rows.count && holds(k, rows)) packs[k] = as_packs(values + row * rows.width)[index(k)];
    }
  }

  __device__ static void store(T* values, const Rows& rows, std::int64_t row, int k,
                               const float (&from)[size]) {
    as_packs(values + row * rows.width)[index(k)] = packed<T>(from);
  }

  /// Calls use(row) so often in all threads of a block that its groups see every row once; where none is left
  /// for a group, `row` is not below rows.count.
  template <typename Use>
  __device__ static void for_rows(const Rows& rows, Use use) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * groups;
    for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * groups; first < rows.count;
         first += step) {
      use(first + static_cast<int>(threadIdx.x) / group);
    }
  }
};

/// Whether a row is whole packs, few enough for the largest group.
template <typename T>
bool fits_tile(const Rows& rows) {
  return rows.width % pack_size<T> == 0 && rows.width / pack_size<T> <= 512 * tile_packs;
}

/// Calls `function` with the number of threads of the smallest group that can hold a row, as an
/// integral_constant. Needs fits_tile.
template <typename T, typename Function>
auto with_group(const Rows& rows, Function function) {
  const int packs = rows.width / pack_size<T>;
  if (packs <= 8 * tile_packs) return function(std::integral_constant<int, 8>{});
  if (packs <= 32 * tile_packs) return function(std::integral_constant<int, 32>{});
  if (packs <= 128 * tile_packs) return function(std::integral_constant<int, 128>{});
  return function(std::integral_constant<int, 512>{});
}

}  // namespace trainyard::cuda
