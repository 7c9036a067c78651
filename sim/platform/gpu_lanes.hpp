#pragma once
// Some GPUs of a node as the search for rings and paths sees them: positions 0, 1, ... and the NVLinks
// between them. Which GPU a position is stays with the caller's list.

#include "platform/platform.hpp"
#include "platform/ring_search.hpp"

#include <span>

namespace trainyard {

/// The NVLinks among GPUs of a node, given by their numbers (as in Platform::gpus), one slot per lane.
LaneGraph gpu_lanes(const Platform& platform, std::span<const int> gpus);

/// The same with as many slots as transfers at `rate` fit on each link, but never fewer than lanes: a
/// transfer to another node needs a NIC's rate and not a lane.
LaneGraph gpu_slots(const Platform& platform, std::span<const int> gpus, Bandwidth rate);

/// All lanes `factor` times over.
LaneGraph times(LaneGraph lanes, int factor);

}  // namespace trainyard
