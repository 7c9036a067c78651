#pragma once
// Turns the fabric of a platform file into a Fabric, and reports errors of meaning in files whose keys and
// values can all be read.

#include "config/problems.hpp"
#include "platform/fabric.hpp"
#include "platform/platform_file.hpp"

#include <optional>

namespace trainyard {

/// Reports all errors and warnings about the meaning of the fabric, except those of custom_shape().
void check_fabric(const PlatformFile& file, config::Problems& problems);

/// The fabric of a file without errors; `custom` has its links.
Fabric build_fabric(const std::optional<FabricFile>& file, CustomShape custom);

}  // namespace trainyard
