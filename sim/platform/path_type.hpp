#pragma once
// What a transfer crosses: the medium decides what software adds to the wire (collectives/costs.hpp) and
// which of its algorithms NCCL takes.

namespace trainyard {

/// From the best to the worst, in NCCL's words (NVIDIA/nccl src/graph/topo.h): NVLinks alone (the slowest
/// generation on the way), one PCIe switch or none, several, one CPU, more than one CPU; host memory where
/// GPUs cannot reach each other's; the network.
enum class PathType { nvlink1, nvlink2, nvlink3, nvlink4, pix, pxb, phb, sys, staged, network };
constexpr int path_types = 10;

constexpr bool is_nvlink(PathType type) { return type <= PathType::nvlink4; }

/// The one that software suffers more from: an older NVLink, else what comes later in the list.
constexpr PathType worse(PathType one, PathType other) {
  const bool are_nvlinks = is_nvlink(one) && is_nvlink(other);
  return (one < other) == are_nvlinks ? one : other;
}

}  // namespace trainyard
