#include "experiment/input_copy.hpp"

#include "platform/cluster.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

namespace trainyard {

Bytes copied_input(const ResolvedExperiment& resolved) {
  if (!resolved.stack.input_copy || !resolved.model) return {};
  const double samples = 1.0 * resolved.settings.batch_per_gpu * resolved.settings.accumulation;
  return samples * resolved.model->layers.front().in_elements *
         Bytes(resolved.stack.input_copy->bytes_per_value);
}

Seconds input_copy_time(const ResolvedExperiment& resolved, int gpus) {
  return host_copy_time(*resolved.cluster, copied_input(resolved), gpus);
}

Seconds host_copy_time(const Cluster& cluster, Bytes each, int gpus) {
  if (each <= Bytes() || cluster.platform.cpus.empty()) return {};
  std::map<LinkId, int> copies;  // by link
  Seconds latency;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    std::vector<LinkId> links;
    try {
      latency = std::max(
          latency, append_route(cluster, HostMemory{.node = NodeId{0}, .cpu = 0}, Rank{gpu}, links).latency);
    } catch (const Unreachable&) {
      return {};  // the platform does not describe how samples reach its GPUs
    }
    for (const LinkId link : links) ++copies[link];
  }
  Seconds longest;
  for (const auto& [link, count] : copies)
    longest = std::max(longest, count * each / capacity(cluster, link));
  return latency + longest;
}

std::string input_copy_note(const ResolvedExperiment& resolved, Seconds time) {
  const int gpus = resolved.cluster->gpus_on_node.front();
  return fmt::format(
      "every step waits {} for copies of its samples from the host to the GPUs, {} per node (input_copy)",
      human(time), human(gpus * copied_input(resolved)));
}

}  // namespace trainyard
