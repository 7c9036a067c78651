#pragma once
// The highest bandwidth between two halves of a node: an upper limit for every collective across them.

#include "platform/platform.hpp"

namespace trainyard {

enum class Rate { specified, effective };

/// Bandwidth per direction of the minimum cut between the first half of the GPUs in rank order (rounded down)
/// and the others, over NVLinks alone or over all links of one node; 0 for fewer than two GPUs. By max-flow
/// (push and relabel) in whole bytes per second.
Bandwidth minimum_cut(const Platform& platform, Rate rate, bool nvlink_alone);

}  // namespace trainyard
