#pragma once
// Choices and constants of one version of a communication library on a platform.

#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "platform/platform.hpp"

#include <filesystem>
#include <optional>

namespace trainyard {

/// The constants for the platform's links and network; none for NcclVersion::none. `platform_file`: the
/// folder of this file is searched first for a profile that the platform names by its path. Throws InputError
/// or FileError if the profile of its GPUs is not found or broken. Without a version it is one of the GPUs'
/// time: 2.7.8 before Hopper, else 2.30.
CollectiveSoftware collective_software(const config::Catalogue& catalogue, const Protocols& constants,
                                       std::optional<NcclVersion> version, const Platform& platform,
                                       const std::filesystem::path& platform_file = {});

/// The constants shipped with the program: platforms/protocols/nccl.yaml.
Protocols shipped_protocols(const config::Catalogue& catalogue);

}  // namespace trainyard
