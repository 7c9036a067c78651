#pragma once
// Which switches and NICs the links of a custom fabric join, and what is wrong with those that join none.

#include "config/problems.hpp"
#include "platform/fabric.hpp"
#include "platform/fabric_file.hpp"

namespace trainyard {

/// The switches and links of the file, lists written out. Reports names that are no switch and no NIC, lists
/// that do not parse, links of something to itself and pairs that are linked twice; the entry is then left
/// out. `nics` is the number of NICs of a node; negative when that is not known.
CustomShape custom_shape(const FabricFile& file, int nics, config::Problems& problems);

}  // namespace trainyard
