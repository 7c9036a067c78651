#include "convert/platform_of_gpu.hpp"

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/same_gpu.hpp"
#include "interchange/known_gpus.hpp"
#include "platform/load.hpp"

#include <vector>

namespace trainyard {

std::string platform_of_gpu(std::string_view product) {
  const KnownGpu* const gpu = product.empty() ? nullptr : known_gpu(product, {});
  if (gpu == nullptr || gpu->profile.empty()) return {};
  const std::vector<std::string> found = config::platforms_with_gpu(config::find_catalogue(), gpu->profile);
  return found.empty() ? std::string() : found.front();
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
