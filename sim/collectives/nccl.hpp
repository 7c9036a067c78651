#pragma once
// What NCCL's protocols cost besides bytes over bandwidth, from the tables of its own tuning model. They
// changed threefold between versions, so each stack names the version it ran.

#include "units/quantity.hpp"

namespace trainyard {

enum class NcclVersion { v2_7_8, v2_12, v2_30 };

/// Ring algorithm, Simple protocol.
struct RingCosts {
  Seconds base;     ///< once per collective
  Seconds nvlink;   ///< per step over NVLink
  Seconds pcie;     ///< per step over PCIe or between sockets
  Seconds network;  ///< per step from node to node, without the wire's latency
};

/// Source: NVIDIA/nccl src/graph/tuning.cc at v2.7.8-1, v2.12.10-1 and 5067397c (v2.30): baseLat and hwLat,
/// column Simple.
RingCosts nccl_ring_costs(NcclVersion version);

}  // namespace trainyard
