#include "experiment/collective_software.hpp"

#include "compute/gpu_profile.hpp"

namespace trainyard {

namespace {

constexpr int hopper = 90;  // compute capability

}  // namespace

CollectiveSoftware collective_software(const config::Catalogue& catalogue, const Protocols& constants,
                                       std::optional<NcclVersion> version, const Platform& platform,
                                       const std::filesystem::path& platform_file) {
  if (version == NcclVersion::none) return {};
  const auto profile = config::find(catalogue, config::Kind::gpu, platform.gpu_profile, platform_file);
  const int capability = compute_capability(load_gpu_facts(config::load(profile)));
  const NcclVersion used = version.value_or(capability < hopper ? NcclVersion::v2_7_8 : NcclVersion::v2_30);
  return {.version = used,
          .overheads = overheads_of(constants, used, platform),
          .compute_capability = capability};
}

Protocols shipped_protocols(const config::Catalogue& catalogue) {
  return load_protocols(config::load(config::find(catalogue, config::Kind::protocols, "nccl")));
}

}  // namespace trainyard
