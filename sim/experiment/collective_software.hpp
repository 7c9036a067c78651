#pragma once
// Choices and constants of one version of a communication library on a platform.

#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "config/catalogue.hpp"
#include "platform/platform.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace trainyard {

/// The compute capability with which a GPU counts in NCCL's tables: its own. A GPU without CUDA has a library
/// with tables of its own (RCCL for AMD's); these are not modelled, and it counts as a Hopper (assumed).
int nccl_capability(const GpuProfile& gpu);

/// Says so; nothing for a GPU with CUDA.
std::optional<std::string> nccl_capability_note(const GpuProfile& gpu);

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
