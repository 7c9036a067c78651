#include "experiment/input_copy.hpp"

#include "platform/cluster.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace trainyard {

Seconds input_copy_time(const ResolvedExperiment& resolved, int gpus) {
  if (!resolved.stack.input_copy || !resolved.model || resolved.platform.cpus.empty()) return {};
  const Cluster& cluster = *resolved.cluster;
  const double samples = 1.0 * resolved.settings.batch_per_gpu * resolved.settings.accumulation;
  const Bytes of_each = samples * resolved.model->layers.front().in_elements *
                        Bytes(resolved.stack.input_copy->bytes_per_value);
  std::map<LinkId, int> copies;  // by link
  Seconds latency;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    std::vector<LinkId> links;
    latency = std::max(
        latency, append_route(cluster, HostMemory{.node = NodeId{0}, .cpu = 0}, Rank{gpu}, links).latency);
    for (const LinkId link : links) ++copies[link];
  }
  Seconds longest;
  for (const auto& [link, count] : copies)
    longest = std::max(longest, count * of_each / capacity(cluster, link));
  return latency + longest;
}

}  // namespace trainyard
