#include "collectives/bounds.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace trainyard {

namespace {

/// What leaves a GPU over all its links together.
Bandwidth injection(const Platform& platform, DeviceId gpu) {
  Bandwidth sum;
  const auto [begin, end] = boost::out_edges(gpu, platform.node);
  for (auto edge = begin; edge != end; ++edge) sum += platform.node[*edge].bandwidth.value;
  return sum;
}

Seconds bandwidth_bound(int parties, Bytes size, Bandwidth each) {
  if (parties < 2 || each <= Bandwidth{}) return Seconds{};
  return size / each * (2.0 * (parties - 1) / parties);
}

int hops(int parties) { return std::bit_width(static_cast<unsigned>(parties - 1)); }

/// The shortest way between two GPUs of the first node that hold ranks.
Seconds shortest_latency(const Cluster& cluster) {
  const auto ranks = static_cast<std::size_t>(cluster.gpus_on_node.front());
  std::optional<Seconds> shortest;
  for (std::size_t a = 0; a < ranks; ++a) {
    for (std::size_t b = a + 1; b < ranks; ++b) {
      const NodePath& path = cluster.inside.gpu_to_gpu[a][b];
      if (path.reachable) shortest = std::min(shortest.value_or(path.latency), path.latency);
    }
  }
  return shortest.value_or(Seconds{});
}

}  // namespace

Seconds all_reduce_bound(const Cluster& cluster, Bytes size) {
  if (cluster.ranks() < 2) return Seconds{};
  Bandwidth best_gpu;
  for (const DeviceId gpu : cluster.platform.gpus)
    best_gpu = std::max(best_gpu, injection(cluster.platform, gpu));
  const Seconds by_ranks = bandwidth_bound(cluster.ranks(), size, best_gpu);
  if (cluster.nodes == 1) return std::max(by_ranks, hops(cluster.ranks()) * shortest_latency(cluster));
  const Fabric& fabric = cluster.platform.fabric;
  const Bandwidth nics = fabric.nic.value * static_cast<double>(cluster.platform.nics.size());
  return std::max(
      {by_ranks, bandwidth_bound(cluster.nodes, size, nics), hops(cluster.nodes) * fabric.latency.value});
}

}  // namespace trainyard
