#include "collectives/message_channels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trainyard {

namespace {

constexpr int all_channels = 32;

unsigned power_above(int number) { return std::bit_ceil(static_cast<unsigned>(number)); }

/// The fewest NVLink lanes on the path between two ranks of the group; 0 if not all are joined by NVLinks.
int fewest_lanes(const Cluster& cluster, std::span<const Rank> group) {
  int fewest = std::numeric_limits<int>::max();
  std::vector<LinkId> links;
  for (const Rank from : group) {
    for (const Rank to : group) {
      if (from == to) continue;
      if (cluster.node_of(from) != cluster.node_of(to)) return 0;
      const NodePath& path = path_inside(cluster, from, to);
      if (!path.reachable || !is_nvlink(path.type)) return 0;
      links.clear();
      append_route(cluster, from, to, -1, links);
      for (const LinkId link : links) fewest = std::min(fewest, lanes(cluster, link));
    }
  }
  return fewest;
}

}  // namespace

Bandwidth message_rate(const MessageChannels& channels, Bytes message) {
  const double parts = std::max(1.0, std::ceil(message / channels.least_part));
  return channels.each * std::min(channels.most, parts);
}

Bytes first_chunks(const MessageChannels& channels, Bytes message) {
  constexpr Bytes chunk{512.0 * 1024};
  return std::min(message, chunk * std::max(1.0, channels.most));
}

int channels_per_pair(const Cluster& cluster, std::span<const Rank> group) {
  constexpr int without_nvlink = 2;
  const int lanes = fewest_lanes(cluster, group);
  return lanes == 0 ? without_nvlink : std::min(all_channels, static_cast<int>(power_above(2 * lanes)));
}

MessageChannels all_to_all_channels(const Cluster& cluster, const ProtocolOverheads& overheads,
                                    std::span<const Rank> group, Protocol protocol) {
  const int lanes = overheads.pairs ? fewest_lanes(cluster, group) : 0;
  if (lanes == 0) return {};
  const auto ranks = static_cast<int>(group.size());
  const double share = ranks <= all_channels ? all_channels / static_cast<double>(power_above(ranks))
                                             : 1 / std::ceil(ranks / static_cast<double>(all_channels));
  const bool is_simple = protocol == Protocol::simple;
  return {.most = std::min(share, static_cast<double>(power_above(2 * lanes))),
          .least_part = is_simple ? overheads.pairs->least_part_simple : overheads.pairs->least_part_ll,
          .each = is_simple ? overheads.pairs->channel_simple : overheads.pairs->channel_ll,
          .startup = is_simple ? overheads.pairs->startup : 0};
}

}  // namespace trainyard
