#pragma once
// The medium of a transfer: it decides the cost that software adds to the wire
// (collectives/protocol_overheads.hpp) and affects NCCL's choice of algorithm.

namespace trainyard {

/// From the best to the worst, in NCCL's terms (NVIDIA/nccl src/graph/topo.h): NVLinks only (the slowest
/// generation of the path) or xGMI links of AMD's GPUs, one PCIe switch or none, several, one CPU, more than
/// one CPU; host memory if GPUs cannot reach each other's; the network.
enum class PathType {
  nvlink1,
  nvlink2,
  nvlink3,
  nvlink4,
  nvlink5,
  xgmi,
  pix,
  pxb,
  phb,
  sys,
  staged,
  network
};
constexpr int path_types = 12;
constexpr PathType best_path = PathType::xgmi;

constexpr bool is_nvlink(PathType type) { return type <= best_path; }

/// The one with the higher software cost: the older NVLink, otherwise the later in the list.
constexpr PathType worse(PathType one, PathType other) {
  const bool are_nvlinks = is_nvlink(one) && is_nvlink(other);
  return (one < other) == are_nvlinks ? one : other;
}

}  // namespace trainyard
