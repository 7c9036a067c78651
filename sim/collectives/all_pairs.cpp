#include "collectives/all_pairs.hpp"

#include "collectives/switch_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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
        efficiencies_(link_count(cluster), 1) {}

  /// Counts messages over these links, which are part of paths of this type.
  void add(std::span<const LinkId> links, std::int64_t messages, PathType type) {
    const double reached = efficiency(type, overheads_, protocol_);
    for (const LinkId link : links) {
      times_[index(link)] += messages;
      efficiencies_[index(link)] = std::min(efficiencies_[index(link)], reached);
    }
  }

  /// Takes a whole path of this kind into account.
  void note(const RouteSummary& way) {
    const auto type = static_cast<std::size_t>(way.type);
    all_.latency = std::max(all_.latency, message_latency(way, overheads_, protocol_));
    all_.startup = std::max(all_.startup, overheads_.startup[type]);
    const double reached = efficiency(way.type, overheads_, protocol_);
    all_.limit = std::min(all_.limit, way.limit * reached);
    is_held_ = is_held_ || std::isfinite(way.limit.si()) || reached < 1 || overheads_.startup[type] > 0;
  }

  void add_edges(std::size_t ranks) {
    all_.pattern.summed_edges += static_cast<std::int64_t>(ranks) * static_cast<std::int64_t>(ranks - 1);
  }

  AllPairs finish() {
    std::vector<int> counts(times_.size(), 0);
    for (std::uint32_t link = 0; link < times_.size(); ++link) {
      if (times_[link] == 0) continue;
      if (times_[link] > std::numeric_limits<int>::max()) {
        throw InputError(fmt::format("{} messages would cross {} at once", times_[link],
                                     link_name(cluster_, LinkId{link})),
                         "use fewer ranks: at most 2147483647 messages may cross a link");
      }
      counts[link] = static_cast<int>(times_[link]);
      if (!is_held_) continue;
      const Bandwidth share = capacity(cluster_, LinkId{link}) / static_cast<double>(times_[link]);
      all_.limit = std::min(all_.limit, share * efficiencies_[link]);
    }
    append_blocks(counts);
    return std::move(all_);
  }

private:
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
  bool is_held_ = false;
  std::vector<std::int64_t> times_;   ///< by link
  std::vector<double> efficiencies_;  ///< by link: the smallest among its messages
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
