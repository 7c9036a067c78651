#pragma once
// The communication library of a job on a platform: choices and constants of one version of NCCL, RCCL
// between AMD's GPUs, or MPI or Gloo on the hosts.

#include "collectives/library.hpp"
#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "config/catalogue.hpp"
#include "platform/platform.hpp"
#include "strategy/stack.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace trainyard {

/// That of a stack. `constants`: of NCCL and RCCL. Throws InputError if NCCL is to join processors, or RCCL
/// GPUs that are not AMD's.
CollectiveSoftware library_of(const Stack& stack, const Platform& platform, const GpuProfile& gpu,
                              const Protocols& constants);

/// The rate at which one thread of a rank adds received data to its own: that of the profile or, without one,
/// of an element-wise kernel, which reads two values and writes one, over the cores of a processor (assumed).
Bandwidth rate_of_sums(const GpuProfile& gpu);

/// Whether NCCL between such GPUs is RCCL: GPUs without CUDA, which are AMD's.
bool has_rccl(const GpuProfile& gpu);

/// The compute capability with which a GPU counts in NCCL's tables: its own. One without CUDA counts as a
/// Hopper where RCCL has no rule of its own (messages, buffers; assumed).
int nccl_capability(const GpuProfile& gpu);

/// A note on how far these are RCCL's own choices and costs; nothing for a GPU with CUDA.
std::optional<std::string> rccl_note(const GpuProfile& gpu);

/// The software of a library, without a stack: the library of the platform's time if none is named (NCCL
/// between GPUs, MPICH between processors), and the version of NCCL of the GPUs' time if none is (2.7.8
/// before Hopper, else 2.30). NcclVersion::none: no constants. `platform_file`: the folder of this file is
/// searched first for a profile that the platform names by its path. Throws InputError or FileError if the
/// profile is missing or broken, InputError as above, or if a version is given for another library.
CollectiveSoftware collective_software(const config::Catalogue& catalogue, const Protocols& constants,
                                       std::optional<NcclVersion> version, const Platform& platform,
                                       const std::filesystem::path& platform_file = {},
                                       std::optional<CommunicationLibrary> library = {});

/// The constants shipped with the program: platforms/protocols/nccl.yaml.
Protocols shipped_protocols(const config::Catalogue& catalogue);

}  // namespace trainyard
