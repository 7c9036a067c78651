#pragma once
// Some GPUs of a node in the form needed by the search for rings and paths: positions 0, 1, ... and the
// NVLinks between them. The caller's list maps positions to GPUs.

#include "platform/platform.hpp"
#include "platform/ring_search.hpp"

#include <span>

namespace trainyard {

/// The NVLinks among GPUs of a node, given by their numbers (as in Platform::gpus).
LaneGraph gpu_lanes(const Platform& platform, std::span<const int> gpus);

}  // namespace trainyard
