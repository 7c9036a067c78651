#pragma once
// Errors of meaning in platform files whose keys and values can all be read, and what their fabrics mean.

#include "config/problems.hpp"
#include "platform/platform_file.hpp"

#include <string_view>

namespace trainyard {

/// The rate of collectives on one lane of this kind from node.effective; null if the file has none.
const Sourced<Bandwidth>* effective_per_lane(const EffectiveFile& effective, LinkKind kind);

/// Reports all errors and warnings about the meaning of the file, except those of link_ends(). `file_stem`:
/// the file's name without folder and .yaml.
void check_platform_file(const PlatformFile& file, config::Problems& problems);

/// Reports all errors and warnings about the meaning of the fabric, except those of custom_shape().
void check_fabric(const PlatformFile& file, config::Problems& problems);

/// The fabric of a file without errors; `custom` has its links.
Fabric build_fabric(const std::optional<FabricFile>& file, CustomShape custom);

/// The switches and links of the file, with lists written out. Reports names that are neither switch nor NIC,
/// lists that do not parse, links from something to itself and pairs linked twice, and leaves out these
/// entries. `nics`: the number of NICs of a node; negative if unknown.
CustomShape custom_shape(const FabricFile& file, int nics, config::Problems& problems);

}  // namespace trainyard
