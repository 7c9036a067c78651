#pragma once
// node.nics: a machine with fewer of its network cards, for what-ifs.

#include "config/problems.hpp"
#include "platform/link_ends.hpp"
#include "platform/platform_file.hpp"

#include <vector>

namespace trainyard {

/// Reports a node.nics that the file's devices do not have, or whose fabric names NICs one by one.
void check_nics_in_use(const PlatformFile& file, config::Problems& problems);

/// Takes the NICs that node.nics does not use out of the devices and their links. The NICs in use are spread
/// evenly over the file's order, so that GPUs stay as near to one as they can, and get the numbers from 0.
/// Requires a checked file.
void leave_out_nics(PlatformFile& file, std::vector<std::vector<DevicePair>>& pairs);

}  // namespace trainyard
