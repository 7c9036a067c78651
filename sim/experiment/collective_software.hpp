#pragma once
// What a communication library of a version adds to the wire on a platform: its choices and its constants.

#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "platform/platform.hpp"

#include <filesystem>

namespace trainyard {

/// The constants as they apply to the platform's links and network; none of them for NcclVersion::none.
/// `platform_file`: where a profile that the platform names by its path is looked for first. Throws
/// InputError or FileError if the profile of its GPUs is not found or broken.
CollectiveSoftware collective_software(const config::Catalogue& catalogue, const Protocols& constants,
                                       NcclVersion version, const Platform& platform,
                                       const std::filesystem::path& platform_file = {});

/// The constants that the program ships: platforms/protocols/nccl.yaml.
Protocols shipped_protocols(const config::Catalogue& catalogue);

}  // namespace trainyard
