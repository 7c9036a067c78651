#include "collectives/all_pairs.hpp"

#include "collectives/switch_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace trainyard {

namespace {

/// Counts uses of links and collects the costs of the messages over them.
class Counter {
public:
  Counter(const Cluster& cluster, const ProtocolOverheads& overheads, Protocol protocol)
      : cluster_(cluster),
        overheads_(overheads),
        protocol_(protocol),
        times_(link_count(cluster), 0),
        types_(link_count(cluster), 0) {}

  /// Counts messages over these links, which are part of paths of this type.
  void add(std::span<const LinkId> links, std::int64_t messages, PathType type) {
    for (const LinkId link : links) {
      times_[index(link)] += messages;
      types_[index(link)] |= 1U << static_cast<unsigned>(type);
    }
  }

  /// Takes a whole path of this kind into account.
  void note(const RouteSummary& way) {
    all_.latency = std::max(all_.latency, message_latency(way, overheads_, protocol_));
    take_slower(slower_, way.type);
    const auto [limit, is_new] = limits_.try_emplace(way.type, way.limit);
    limit->second = std::min(limit->second, way.limit);
  }

  void add_edges(std::size_t ranks) {
    all_.pattern.summed_edges += static_cast<std::int64_t>(ranks) * static_cast<std::int64_t>(ranks - 1);
  }

  AllPairs finish() {
    const bool is_held = note_types();
    std::vector<int> counts(times_.size(), 0);
    for (std::uint32_t link = 0; link < times_.size(); ++link) {
      if (times_[link] == 0) continue;
      if (times_[link] > std::numeric_limits<int>::max()) {
        throw InputError(fmt::format("{} messages would cross {} at once", times_[link],
                                     link_name(cluster_, LinkId{link})),
                         "use fewer ranks: at most 2147483647 messages may cross a link");
      }
      counts[link] = static_cast<int>(times_[link]);
      if (!is_held) continue;
      const Bandwidth share = capacity(cluster_, LinkId{link}) / static_cast<double>(times_[link]);
      all_.limit = std::min(all_.limit, share * reached(types_[link]));
    }
    append_blocks(counts);
    return std::move(all_);
  }

private:
  [[nodiscard]] double reached(PathType type) const {
    return efficiency(type, slower_, overheads_, protocol_);
  }

  /// The least that messages of some types reach, one bit for each.
  [[nodiscard]] double reached(unsigned types) const {
    double least = 1;
    for (int type = 0; type < path_types; ++type) {
      if ((types >> static_cast<unsigned>(type) & 1U) != 0)
        least = std::min(least, reached(static_cast<PathType>(type)));
    }
    return least;
  }

  /// Takes the costs of all types of paths into account. Returns whether anything keeps messages below the
  /// rate of their links.
  bool note_types() {
    bool is_held = false;
    for (const auto& [type, limit] : limits_) {
      const double startup = trainyard::startup(type, slower_, overheads_);
      all_.startup = std::max(all_.startup, startup);
      all_.limit = std::min(all_.limit, limit * reached(type));
      is_held = is_held || std::isfinite(limit.si()) || reached(type) < 1 || startup > 0;
    }
    return is_held;
  }

  /// Node by node and switch by switch, since many are alike.
  void append_blocks(std::span<const int> counts) {
    const auto append = [&](std::size_t first, std::size_t end, std::size_t block) {
      for (; first < end; first += block)
        all_.pattern.counted.append(counts.subspan(first, std::min(block, end - first)));
    };
    const std::size_t of_nodes = counts.size() - cluster_.network->links();
    append(0, of_nodes, links_per_node(cluster_));
    append(of_nodes, counts.size(), cluster_.network->links_of_switch());
  }

  const Cluster& cluster_;
  const ProtocolOverheads& overheads_;
  Protocol protocol_;
  AllPairs all_;
  std::optional<PathType> slower_;        ///< the worst path inside nodes that is no NVLink
  std::map<PathType, Bandwidth> limits_;  ///< the lowest of single connections
  std::vector<std::int64_t> times_;       ///< by link
  std::vector<unsigned> types_;           ///< by link: those of its messages, one bit for each
};

void count_group(const Cluster& cluster, std::span<const Rank> group, Counter& counter) {
  const std::vector<NodeShare> shares = node_shares(cluster, group);
  std::vector<LinkId> links;
  for (const NodeShare& share : shares) {
    for (const Rank from : share.ranks) {
      for (const Rank to : share.ranks) {
        if (from == to) continue;
        links.clear();
        const RouteSummary way = append_route(cluster, from, to, -1, links);
        counter.add(links, 1, way.type);
        counter.note(way);
      }
    }
  }
  count_traffic_between_nodes(
      cluster, shares,
      {.add_links = [&](std::span<const LinkId> part,
                        std::int64_t messages) { counter.add(part, messages, PathType::network); },
       .note_way = [&](const RouteSummary& way) { counter.note(way); }});
  counter.add_edges(group.size());
}

}  // namespace

AllPairs counted_pairs(const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request) {
  Counter counter(cluster, overheads, request.protocol);
  count_group(cluster, request.group, counter);
  for (const std::vector<Rank>& group : request.concurrent) count_group(cluster, group, counter);
  return counter.finish();
}

AllPairs all_pairs(const Cluster& cluster, const ProtocolOverheads& overheads,
                   const CollectiveRequest& request) {
  const std::vector<Rank>& group = request.group;
  const std::size_t edges = group.size() * (group.size() - 1);
  if (group.size() > most_ranks_with_edges || edges * (1 + request.concurrent.size()) > most_edges)
    return counted_pairs(cluster, overheads, request);
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(edges);
  // in order of distance, as NCCL's peer-to-peer schedules begin
  for (std::size_t distance = 1; distance < group.size(); ++distance) {
    for (std::size_t i = 0; i < group.size(); ++i) maker.add(group[i], group[(i + distance) % group.size()]);
  }
  AllPairs all{
      .pattern = {}, .latency = maker.largest_latency(), .limit = maker.limit(), .startup = maker.startup()};
  all.pattern = maker.take();
  return all;
}

}  // namespace trainyard
