#pragma once
// node.gpus.count set from outside the platform's file: a machine with fewer of its GPUs, for what-ifs.

#include "config/problems.hpp"
#include "platform/link_ends.hpp"
#include "platform/platform_file.hpp"

#include <vector>

namespace trainyard {

/// Takes the links of GPUs that a count from outside the file leaves out, those with the highest numbers, out
/// of `pairs`. Reports a count above the GPUs that the file's links name.
void leave_out_gpus(const PlatformFile& file, std::vector<std::vector<DevicePair>>& pairs,
                    config::Problems& problems);

}  // namespace trainyard
