#pragma once
// The combinatorial part of channels.hpp: how many directed rings through all GPUs fit on the lanes of a node
// if each ring uses separate lanes, and which: a depth-first search for one ring after the other.

#include <optional>
#include <span>
#include <vector>

namespace trainyard {

/// Lanes of one node, each usable once in each direction. GPUs are numbered from 0.
struct LaneGraph {
  int gpus = 0;
  std::vector<std::vector<int>> direct;  ///< [gpu][gpu], symmetric: lanes between two GPUs
  std::vector<std::vector<int>> ports;   ///< [switch][gpu]: lanes between a switch and a GPU
};

/// GPUs in the order of travel; a ring closes from the last to the first.
using GpuOrder = std::vector<int>;

struct RingSearch {
  std::vector<GpuOrder> rings;
  bool is_exact = true;  ///< false if the search stopped before it had proved that no more rings fit
  long steps = 0;        ///< some 10 ns each
};

/// The largest set of rings found; empty for fewer than two GPUs. At most the lanes of the smallest cut. The
/// search gives up a number of rings after a million steps (some 10 ms) and tries one less, after 20 million
/// steps half as many.
RingSearch find_rings(const LaneGraph& lanes);

/// First and last GPU of a path through all GPUs; the same GPU twice if there is only one.
struct PathEnds {
  int first = 0;
  int last = 0;
};

/// One path through all GPUs for each pair of ends, no lane used twice; empty if that is impossible or was
/// not found in two million steps.
std::optional<std::vector<GpuOrder>> find_paths(const LaneGraph& lanes, std::span<const PathEnds> ends);

/// Paths with as few per lane as possible: one, or more if they do not fit. The result depends on
/// lanes and not on rates, so a faster link never makes a collective slower by changing its path. Each number
/// of paths is searched as above.
std::optional<std::vector<GpuOrder>> least_loaded_paths(const LaneGraph& lanes,
                                                        std::span<const PathEnds> ends);

/// A path through all GPUs from GPU 0, or else from the first GPU where one starts; empty if there is none.
std::optional<GpuOrder> find_chain(const LaneGraph& lanes);

/// Whether NVLinks join all GPUs.
bool is_connected(const LaneGraph& lanes);

}  // namespace trainyard
