#pragma once
// NVLinks as a file lists them, and the NVSwitches behind them, which it may not show.

#include "interchange/known_gpus.hpp"
#include "interchange/node_layout.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Whether a link of a GPU ends at a socket.
bool is_to_socket(const NodeLayout& layout, const GpuLink& link);

/// Puts GPUs on a crossbar that have more links to each other than a GPU has: a matrix and some virtual
/// machines list a GPU's NVLinks once for each peer behind NVSwitches. `gpu`: their kind, null if unknown.
/// Returns a comment for each crossbar. Throws InputError if the links are not equal, or not of all pairs.
std::vector<std::string> join_through_switches(NodeLayout& layout, const KnownGpu* gpu);

}  // namespace trainyard
