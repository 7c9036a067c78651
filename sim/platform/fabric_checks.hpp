#pragma once
// From the fabric of a platform file to a Fabric, and what such a file can say wrong although every key and
// value of it reads well.

#include "config/problems.hpp"
#include "platform/fabric.hpp"
#include "platform/platform_file.hpp"

#include <optional>

namespace trainyard {

/// Reports every error and doubt about the meaning of the fabric but those of custom_shape().
void check_fabric(const PlatformFile& file, config::Problems& problems);

/// The fabric of a file without errors; `custom` is what its links join.
Fabric build_fabric(const std::optional<FabricFile>& file, CustomShape custom);

}  // namespace trainyard
