#include "cli/platform_of_gpu.hpp"

#include "compute/gpu_profile.hpp"
#include "config/catalogue.hpp"
#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "interchange/known_gpus.hpp"
#include "platform/load.hpp"

namespace trainyard {

namespace {

/// Whether a platform's profile is this one, or measurements of the same GPU with PyTorch's ops.
bool is_same_gpu(const config::Catalogue& catalogue, const std::string& of_platform,
                 std::string_view profile) {
  if (of_platform == profile) return true;
  if (config::is_path(of_platform)) return false;
  const config::Document document = config::load(config::find(catalogue, config::Kind::gpu, of_platform));
  return load_gpu_facts(document).outside_pytorch == profile;
}

}  // namespace

std::string platform_of_gpu(std::string_view product) {
  const KnownGpu* const gpu = product.empty() ? nullptr : known_gpu(product, {});
  if (gpu == nullptr || gpu->profile.empty()) return {};
  const config::Catalogue catalogue = config::find_catalogue();
  std::string found;
  for (const std::string& name : config::names(catalogue, config::Kind::platform)) {
    const bool is_dgx = name.starts_with("dgx");
    if (!found.empty() && !is_dgx) continue;
    try {
      const config::Document document = config::load(config::find(catalogue, config::Kind::platform, name));
      const Platform platform = load_platform(document);
      if (platform.ranks_on_processors || !is_same_gpu(catalogue, platform.gpu_profile, gpu->profile))
        continue;
    } catch (const InputError&) {
      continue;  // a user's own platform with a mistake is no concern here
    }
    found = name;
    if (is_dgx) break;
  }
  return found;
}

Overrides job_of(int ranks, int on_node) {
  Overrides job;
  if (ranks > on_node) job.emplace_back("nodes", std::to_string((ranks + on_node - 1) / on_node));
  if (ranks > 1) job.emplace_back("gpus", std::to_string(ranks));
  return job;
}

int gpus_on_node(const std::string& platform) {
  if (platform.empty()) return 8;
  const config::Catalogue catalogue = config::find_catalogue();
  const config::Document document = config::load(config::find(catalogue, config::Kind::platform, platform));
  return static_cast<int>(load_platform(document).gpus.size());
}

}  // namespace trainyard
