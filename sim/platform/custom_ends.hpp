#pragma once
// The switches and NICs joined by the links of a custom fabric, and the errors of links that join none.

#include "config/problems.hpp"
#include "platform/fabric.hpp"
#include "platform/fabric_file.hpp"

namespace trainyard {

/// The switches and links of the file, with lists written out. Reports names that are neither switch nor NIC,
/// lists that do not parse, links from something to itself and pairs linked twice, and leaves out these
/// entries. `nics`: the number of NICs of a node; negative if unknown.
CustomShape custom_shape(const FabricFile& file, int nics, config::Problems& problems);

}  // namespace trainyard
