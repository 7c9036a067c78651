#include "collectives/protocol_overheads.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace trainyard {

Seconds message_latency(const RouteSummary& route, const ProtocolOverheads& overheads, Protocol protocol) {
  const Seconds step =
      overheads.step[static_cast<std::size_t>(route.type)][static_cast<std::size_t>(protocol)];
  if (route.type == PathType::network) return step + route.latency;
  // Measured steps include the path's latency over usual links. A link's latency, measured with whole chunks,
  // does not apply to a flag; it only says how much longer than usual the path is.
  return step > Seconds{} ? step + route.beyond_usual : route.latency;
}

std::optional<std::string> note_on_latencies(const Cluster& cluster, const ProtocolOverheads& overheads,
                                             std::span<const Rank> group) {
  const auto [first, last] = edges(cluster.platform.node);
  const bool has_faster = std::any_of(first, last, [&](EdgeId edge) {
    const Link& link = cluster.platform.node[edge];
    return link.latency.value < usual_latency(link.kind);
  });
  if (!has_faster) return std::nullopt;  // the usual answer, without a look at every way
  const auto is_without_effect = [&](Rank from, Rank to) {
    const NodePath& path = path_inside(cluster, from, to);
    const ByProtocol<Seconds>& steps = overheads.step[static_cast<std::size_t>(path.type)];
    return path.reachable && path.below_usual > Seconds{} &&
           std::ranges::any_of(steps, [](Seconds step) { return step > Seconds{}; });
  };
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::size_t j = i + 1; j < group.size(); ++j) {
      if (cluster.node_of(group[j]) != cluster.node_of(group[i])) break;
      if (!is_without_effect(group[i], group[j])) continue;
      return fmt::format(
          "link latencies below {} (NVLink) or {} (other links) do not make collectives inside a node "
          "faster: the measured steps of NCCL's protocols already include such latencies",
          human(usual_latency(LinkKind::nvlink2)), human(usual_latency(LinkKind::pcie3)));
    }
  }
  return std::nullopt;
}

Seconds with_launches(Seconds time, Seconds launches) {
  if (launches <= Seconds{}) return time;
  const Seconds longer = std::max(time, launches);
  const double ratio = std::min(time, launches) / longer;
  const double power = ratio * ratio * ratio * ratio * ratio * ratio;
  return longer * std::cbrt(std::sqrt(1 + power));
}

bool keeps_pace(PathType type, const ProtocolOverheads& overheads, Protocol protocol) {
  return !is_nvlink(type) && type != PathType::network &&
         overheads.step[static_cast<std::size_t>(type)][static_cast<std::size_t>(protocol)] > Seconds{};
}

void take_slower(std::optional<PathType>& slower, PathType type) {
  if (is_nvlink(type) || type == PathType::network) return;
  slower = slower ? worse(*slower, type) : type;
}

double efficiency(PathType type, std::optional<PathType> slower, const ProtocolOverheads& overheads,
                  Protocol protocol) {
  const auto of = [&](PathType path) {
    const double part =
        overheads.efficiency[static_cast<std::size_t>(path)][static_cast<std::size_t>(protocol)];
    return part > 0 ? part : 1;
  };
  return is_nvlink(type) && slower ? std::max(of(type), of(*slower)) : of(type);
}

double startup(PathType type, std::optional<PathType> slower, const ProtocolOverheads& overheads) {
  const auto of = [&](PathType path) { return overheads.startup[static_cast<std::size_t>(path)]; };
  return is_nvlink(type) && slower ? std::min(of(type), of(*slower)) : of(type);
}

}  // namespace trainyard
