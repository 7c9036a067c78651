#include "experiment/collective_software.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

constexpr int hopper = 90;  // compute capability

}  // namespace

int nccl_capability(const GpuProfile& gpu) {
  const int its = compute_capability(gpu);
  return its > 0 ? its : hopper;
}

std::optional<std::string> nccl_capability_note(const GpuProfile& gpu) {
  if (compute_capability(gpu) > 0) return std::nullopt;
  return fmt::format(
      "collectives: {} has no CUDA compute capability; NCCL's tables are read as for a Hopper GPU (assumed: "
      "the tables "
      "of other libraries, such as RCCL, are not modelled)",
      gpu.name);
}

CollectiveSoftware collective_software(const config::Catalogue& catalogue, const Protocols& constants,
                                       std::optional<NcclVersion> version, const Platform& platform,
                                       const std::filesystem::path& platform_file) {
  if (version == NcclVersion::none) return {};
  const auto profile = config::find(catalogue, config::Kind::gpu, platform.gpu_profile, platform_file);
  const GpuProfile gpu = load_gpu_facts(config::load(profile));
  const int capability = nccl_capability(gpu);
  const NcclVersion used = version.value_or(capability < hopper ? NcclVersion::v2_7_8 : NcclVersion::v2_30);
  return {.version = used,
          .overheads = overheads_of(constants, used, platform),
          .compute_capability = capability,
          .note = nccl_capability_note(gpu)};
}

Protocols shipped_protocols(const config::Catalogue& catalogue) {
  return load_protocols(config::load(config::find(catalogue, config::Kind::protocols, "nccl")));
}

}  // namespace trainyard
