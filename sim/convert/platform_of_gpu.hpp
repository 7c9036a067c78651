#pragma once
// A shipped platform with a given GPU, for the command that a message suggests.

#include "experiment/resolve.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// The name of a platform whose GPUs are the product that a driver calls so, a DGX if there is one; empty if
/// none is shipped.
std::string platform_of_gpu(std::string_view product);

/// Keys for a job of so many GPUs on nodes with `on_node` each; none for one GPU or an unknown number (0).
Overrides job_of(int ranks, int on_node);

/// GPUs on a node of this shipped platform; 8 for the empty name.
int gpus_on_node(const std::string& platform);

}  // namespace trainyard
