#include "experiment/collective_software.hpp"

#include "compute/gpu_profile.hpp"

namespace trainyard {

CollectiveSoftware collective_software(const config::Catalogue& catalogue, const Protocols& constants,
                                       NcclVersion version, const Platform& platform,
                                       const std::filesystem::path& platform_file) {
  if (version == NcclVersion::none) return {};
  const auto profile = config::find(catalogue, config::Kind::gpu, platform.gpu_profile, platform_file);
  return {.version = version,
          .overheads = overheads_of(constants, version, platform),
          .compute_capability = compute_capability(load_gpu_facts(config::load(profile)))};
}

Protocols shipped_protocols(const config::Catalogue& catalogue) {
  return load_protocols(config::load(config::find(catalogue, config::Kind::protocols, "nccl")));
}

}  // namespace trainyard
