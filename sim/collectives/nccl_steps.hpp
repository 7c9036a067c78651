#pragma once
// The common parts of the estimates of NCCL and RCCL: units of their tables and the steps of a ring.

#include "collectives/nccl_tuning.hpp"

#include <algorithm>

namespace trainyard {

inline constexpr double us = 1e-6;
inline constexpr double gb_per_s = 1e9;

/// Steps of a ring; `between`: the steps between nodes.
struct RingSteps {
  int all = 0, between = 0;
};

inline RingSteps ring_steps(const NcclShape& shape) {
  const int nodes = shape.nodes;
  if (shape.operation == Operation::all_reduce) {
    const bool counts_all = shape.is_rccl || shape.version == NcclVersion::v2_12;
    const int between = counts_all ? 2 * nodes : 2 * (nodes - 1);
    return {2 * (shape.ranks - 1), nodes == 1 ? 0 : std::min(between, 2 * (shape.ranks - 1))};
  }
  if (has_root(shape.operation)) return {shape.ranks, nodes};
  return {shape.ranks - 1, nodes - 1};
}

}  // namespace trainyard
