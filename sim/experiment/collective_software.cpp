#include "experiment/collective_software.hpp"

#include "compute/processor_profile.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

constexpr int hopper = 90;  // compute capability

void require_gpus(const Platform& platform) {
  if (!platform.ranks_on_processors) return;
  throw InputError(fmt::format("NCCL joins GPUs, and the ranks of {} are on processors", platform.name),
                   "library: mpich, open_mpi or gloo");
}

CollectiveSoftware host_library(CommunicationLibrary library, const GpuProfile& gpu) {
  CollectiveSoftware software{.library = library};
  software.overheads.sums = rate_of_sums(gpu);
  // gloo/allreduce.cc: a chunk has two or more segments: one is under way while another is added
  software.overheads.sums_beside = library == CommunicationLibrary::gloo;
  if (!gpu.is_processor)
    software.note = fmt::format(
        "collectives: {} between GPUs is taken for a build that reads their memory, over one ring of the "
        "same links, with sums at the rate of element-wise kernels (assumed)",
        title_of(library));
  return software;
}

}  // namespace

bool has_rccl(const GpuProfile& gpu) { return !gpu.is_processor && compute_capability(gpu) == 0; }

int nccl_capability(const GpuProfile& gpu) {
  const int capability = compute_capability(gpu);
  return capability > 0 ? capability : hopper;
}

std::optional<std::string> rccl_note(const GpuProfile& gpu) {
  if (!has_rccl(gpu)) return std::nullopt;
  return fmt::format(
      "collectives: between GPUs of {} RCCL stands for NCCL. It chooses as RCCL 2.21 does on eight MI300X, "
      "with costs over xGMI measured there; costs over PCIe and networks are NCCL's (assumed)",
      gpu.name);
}

namespace {

/// `asked`: nccl or rccl. On AMD's GPUs both are RCCL.
CollectiveSoftware nccl(CommunicationLibrary asked, NcclVersion version, const Platform& platform,
                        const GpuProfile& gpu, const Protocols& constants) {
  if (version == NcclVersion::none) return {};
  require_gpus(platform);
  const bool is_rccl = has_rccl(gpu);
  if (asked == CommunicationLibrary::rccl && !is_rccl) {
    throw InputError(fmt::format("RCCL joins AMD's GPUs, and {} is none", gpu.name), "library: nccl");
  }
  return {.library = is_rccl ? CommunicationLibrary::rccl : CommunicationLibrary::nccl,
          .version = version,
          .overheads = overheads_of(constants, version, platform),
          .compute_capability = nccl_capability(gpu),
          .note = rccl_note(gpu)};
}

}  // namespace

Bandwidth rate_of_sums(const GpuProfile& gpu) {
  if (gpu.sums) return gpu.sums->value;
  constexpr double values_per_sum = 3;
  const Bandwidth of_all = gpu.vector.elementwise.value * gpu.memory.bandwidth.value / values_per_sum;
  return gpu.is_processor && gpu.sms ? of_all / static_cast<double>(gpu.sms->value) : of_all;
}

CollectiveSoftware library_of(const Stack& stack, const Platform& platform, const GpuProfile& gpu,
                              const Protocols& constants) {
  if (is_of_hosts(stack.library)) return host_library(stack.library, gpu);
  return nccl(stack.library, stack.nccl, platform, gpu, constants);
}

CollectiveSoftware collective_software(const config::Catalogue& catalogue, const Protocols& constants,
                                       std::optional<NcclVersion> version, const Platform& platform,
                                       const std::filesystem::path& platform_file,
                                       std::optional<CommunicationLibrary> library) {
  const auto usual =
      platform.ranks_on_processors && !version ? CommunicationLibrary::mpich : CommunicationLibrary::nccl;
  const CommunicationLibrary used = library.value_or(usual);
  if (is_of_hosts(used) && version) {
    throw InputError(fmt::format("{} is not NCCL, whose version is given", title_of(used)),
                     "either a library or a version of NCCL");
  }
  if (version == NcclVersion::none) return {};  // without a look at the profile
  const auto file = config::find(catalogue, profile_kind(platform), platform.gpu_profile, platform_file);
  const config::Document document = config::load(file);
  const GpuProfile gpu = platform.ranks_on_processors ? load_processor_profile(document, platform.memory_mode)
                                                      : load_gpu_facts(document);
  if (is_of_hosts(used)) return host_library(used, gpu);
  const bool is_old = nccl_capability(gpu) < hopper;
  return nccl(used, version.value_or(is_old ? NcclVersion::v2_7_8 : NcclVersion::v2_30), platform, gpu,
              constants);
}

Protocols shipped_protocols(const config::Catalogue& catalogue) {
  return load_protocols(config::load(config::find(catalogue, config::Kind::protocols, "nccl")));
}

}  // namespace trainyard
