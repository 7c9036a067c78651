#include "experiment/collective_errors.hpp"

#include "config/read_file.hpp"
#include "platform/channels.hpp"
#include "workload/csv.hpp"

#include <filesystem>

namespace trainyard {

CurveFamily family_of(const Cluster& cluster) {
  if (cluster.nodes > 1) return CurveFamily::several_nodes;
  const ChannelFacts facts = channel_facts(cluster, ring_channels(cluster));
  return facts.has_nvlinks_alone() ? CurveFamily::nvlink : CurveFamily::pcie;
}

std::shared_ptr<const CollectiveErrors> shipped_collective_errors(const config::Catalogue& catalogue) {
  const std::filesystem::path path =
      config::shipped_file(catalogue, "workloads/published/errors/collectives.csv");
  if (path.empty()) return nullptr;
  return std::make_shared<const CollectiveErrors>(
      read_collective_errors(path.string(), config::read_file(path, largest_csv)));
}

}  // namespace trainyard
