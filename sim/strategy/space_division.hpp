#pragma once
// The part of a map that a rank computes if ranks cut height and width of all maps into a grid, and the edges
// that it needs from its neighbours. Source: Dean et al. 2012, Large scale distributed deep networks, NIPS,
// section 3, which divides locally connected layers in this way.

#include "workload/layer.hpp"

namespace trainyard {

/// Parts of the height and of the width.
struct SpaceGrid {
  int rows = 1, columns = 1;
  friend bool operator==(const SpaceGrid&, const SpaceGrid&) = default;
};

/// The most square grid of this many ranks whose parts all have a place of a map of this size, rather wide
/// than high: 81 are 9 x 9, 8 are 2 x 4, and 1 x 8 on a map of height 1. 1 x ranks if there is none.
SpaceGrid space_grid(int ranks, int height, int width);

/// Whether a layer reads windows of a map that are cut by space: convolutions, locally connected layers and
/// poolings, without transposed convolutions and the mean of a whole map.
bool has_space(const Layer& layer);

/// A rank's part of a layer for the samples of all ranks of the grid.
struct SpacePart {
  Layer layer;       ///< of the largest part; its input has the edges
  double reads = 0;  ///< values of its input without padding, per sample of the rank, times the ranks
  /// Values of its input, per sample of the rank, that ranks above and below hold; then those left and right
  /// with the corners. Values of the rank that needs most, times the ranks.
  double rows_halo = 0, columns_halo = 0;
};

/// A layer with has_space(), or one that reads and writes values at the same places of a map. In one
/// dimension part r of n has outputs from r out/n to (r + 1) out/n, rounded down, and holds inputs likewise.
/// The largest has ceil(out/n) outputs and reads (ceil(out/n) - 1) stride + kernel inputs. Halos and `reads`
/// are the largest of all parts: one in the middle has neighbours on both sides, one at an end has padding in
/// place of one of them, and unequal parts of outputs and inputs lie shifted. With more parts than outputs
/// some ranks have none: the others have one each, for which they wait.
SpacePart space_part(const Layer& layer, SpaceGrid grid);

}  // namespace trainyard
