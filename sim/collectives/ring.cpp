#include "collectives/ring.hpp"

#include <algorithm>

namespace trainyard {

Pattern ring_pattern(const Cluster& cluster, std::span<const Channel> channels) {
  Pattern pattern;
  for (const Channel& channel : channels) {
    const int n = static_cast<int>(channel.order.size());
    const int first = static_cast<int>(pattern.edges.size());
    for (int i = 0; i < n; ++i) {
      const Rank from = channel.order[static_cast<std::size_t>(i)];
      const Rank to = channel.order[static_cast<std::size_t>((i + 1) % n)];
      pattern.add_edge({from, to, first + (i + n - 1) % n}, route(cluster, from, to, channel.nic).links);
    }
  }
  return pattern;
}

Seconds edge_latency(const Route& route, const RingCosts& costs) {
  if (route.crosses_network) return costs.network + route.latency;
  return std::max(route.crosses_pcie ? costs.pcie : costs.nvlink, route.latency);
}

Seconds ring_step_latency(const Cluster& cluster, std::span<const Channel> channels, const RingCosts& costs) {
  Seconds slowest;
  for (const Channel& channel : channels) {
    Seconds sum;
    const std::size_t n = channel.order.size();
    for (std::size_t i = 0; i < n; ++i) {
      sum += edge_latency(route(cluster, channel.order[i], channel.order[(i + 1) % n], channel.nic), costs);
    }
    slowest = std::max(slowest, sum / static_cast<double>(n));
  }
  return slowest;
}

Collective ring_all_reduce(Bytes size, int ranks, int channels, int pattern, Seconds overhead,
                           Seconds step_latency) {
  const Bytes chunk = size / (static_cast<double>(ranks) * channels);
  return {.operation = Operation::all_reduce,
          .size = size,
          .overhead = overhead,
          .pattern = pattern,
          .rounds = 2 * (ranks - 1),
          .latency = step_latency,
          .bytes = chunk};
}

Seconds ring_all_reduce_time(int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  const double rounds = 2.0 * (ranks - 1);
  return rounds / ranks * (size / bandwidth) + rounds * latency;
}

Bandwidth all_reduce_busbw(int ranks, Bytes size, Seconds time) {
  if (ranks < 2) return Bandwidth{};
  return size / time * (2.0 * (ranks - 1) / ranks);
}

}  // namespace trainyard
