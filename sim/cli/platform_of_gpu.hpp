#pragma once
// A shipped platform with a given GPU, for the command that a message suggests.

#include <string>
#include <string_view>

namespace trainyard {

/// The name of a platform whose GPUs are the product that a driver calls so, a DGX if there is one; empty if
/// none is shipped.
std::string platform_of_gpu(std::string_view product);

}  // namespace trainyard
