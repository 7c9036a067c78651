#pragma once
// What a communication library of a version adds to the wire on a platform: its choices and its constants.

#include "collectives/planner.hpp"
#include "config/catalogue.hpp"
#include "platform/platform.hpp"

namespace trainyard {

/// The shipped constants (platforms/protocols/nccl.yaml) as they apply to the platform's links and network;
/// none of them for NcclVersion::none. Throws InputError or FileError if that file is broken.
CollectiveSoftware collective_software(const config::Catalogue& catalogue, NcclVersion version,
                                       const Platform& platform);

}  // namespace trainyard
