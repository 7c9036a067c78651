#include "compute/product_tiles.hpp"

#include "compute/alignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace trainyard {
namespace {

struct Tile {
  double m, n, share;  ///< share: of the rate of the best tiles
};

constexpr std::array tiles{
    Tile{256, 128, 1},    Tile{128, 256, 1},    Tile{192, 192, 1},    Tile{128, 192, 0.99},
    Tile{192, 128, 0.99}, Tile{128, 160, 0.98}, Tile{160, 128, 0.98}, Tile{128, 128, 0.95},
    Tile{96, 128, 0.90},  Tile{128, 96, 0.90},  Tile{128, 64, 0.88},  Tile{64, 128, 0.88},
    Tile{96, 64, 0.82},   Tile{64, 96, 0.82},   Tile{64, 64, 0.76},   Tile{64, 32, 0.5}};

/// The share of the peak of a product with unaligned sizes; none if all are aligned or too small to matter.
/// Any size counts: the shares were fitted to the three products of layers with an odd vocabulary, in which
/// it is the length of rows as n, as k and as m.
std::optional<double> unaligned_share(const GemmShape& shape, Bytes size, const ProductRate& rate,
                                      bool is_backward) {
  constexpr double large = 1e9;  // multiply-accumulates
  const bool is_half = size < Bytes(4);
  const std::array sizes{shape.m, shape.n, shape.k};
  const bool is_large = 1.0 * shape.m * shape.n * shape.k > large;
  const double odd = is_backward ? rate.odd_backward : rate.odd;
  if (!are_aligned(sizes, 2) && (is_half || is_large)) return odd;
  if (!are_aligned(sizes, values_per_vector(size)) && is_large) return rate.unaligned;
  return std::nullopt;
}

/// Ranks that split k add their parts.
Seconds split_time(const Multiprocessors& gpu, const GemmShape& shape, int parts) {
  constexpr Seconds fixed{2.5e-6};
  constexpr double share = 0.8;
  const Bytes moved(1.0 * (4 * parts + 2) * shape.m * shape.n);
  return fixed + moved / (share * gpu.bandwidth);
}

/// Rounds of tiles of grouped products.
double rounds_of(const Tile& tile, const GemmShape& shape, int multiprocessors) {
  const double blocks = std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) * shape.batch;
  return std::ceil(blocks / multiprocessors);
}

}  // namespace

double work_in_tiles(const GemmShape& shape, int multiprocessors) {
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double values = rounds_of(tile, shape, multiprocessors) * multiprocessors * tile.m * tile.n;
    least = std::min(least, values / tile.share);
  }
  return least / (1.0 * shape.m * shape.n * shape.batch);
}

Seconds tiled_time(const Multiprocessors& gpu, const GemmShape& shape, Bytes size, const ProductRate& rate,
                   bool is_backward) {
  constexpr double of_bandwidth = 0.75;
  const double m = shape.m, n = shape.n, k = shape.k;
  const Flops flops(2 * m * n * k * shape.batch);
  const Bytes result = rate.sums > Bytes() ? rate.sums : size;
  const Seconds moved =
      shape.batch * ((m * k + k * n) * size + m * n * result) / (of_bandwidth * gpu.bandwidth);
  if (shape.batch > 1 && !rate.grouped) {
    constexpr double of_best = 0.75;
    return rate.fixed + std::max(moved, flops / (of_best * rate.share * gpu.peak));
  }
  const auto share =
      rate.grouped ? std::nullopt : unaligned_share(shape, size, rate, is_backward);  // rows are experts'
  if (share) {
    constexpr Seconds fixed{3e-6};
    return fixed + flops / (*share * gpu.peak);
  }
  constexpr double most_blocks = 200;
  constexpr double shortest_part = 2048;
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const Tile& tile : tiles) {
    const double blocks = std::ceil(m / tile.m) * std::ceil(n / tile.n) * shape.batch;
    for (const int parts : {1, 2, 4}) {
      const bool is_split = parts > 1;
      if (is_split && (rate.grouped || k < shortest_part * parts || blocks * parts > most_blocks)) continue;
      const double rounds = std::ceil(blocks * parts / gpu.number);
      const FlopRate of_one =
          gpu.peak * (rate.share * (is_backward ? rate.backward : 1) * tile.share / gpu.number);
      Seconds time = rounds * (Flops(2 * tile.m * tile.n * k / parts) / of_one);
      if (is_split) time += split_time(gpu, shape, parts);
      best = std::min(best, time);
    }
  }
  return rate.fixed + std::max((1 + rate.k_half / std::max(k, 1.0)) * best, moved);
}

}  // namespace trainyard
