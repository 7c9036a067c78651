#include "collectives/ring.hpp"

#include "collectives/rank_tree.hpp"
#include "collectives/requirements.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

namespace {

/// The GPUs of alike nodes in the order of a channel, and the edges between them.
class NodeOrders {
public:
  NodeOrders(const Cluster& cluster, const Channel& channel) : turns_(channel.turns) {
    for (const Rank rank : std::span(channel.order).first(at(cluster.gpus_on_node.front())))
      forwards_.push_back(index(rank));
    backwards_.assign(forwards_.rbegin(), forwards_.rend());
  }

  [[nodiscard]] bool are_turned(int node) const { return turns_ && node % 2 == 1; }
  [[nodiscard]] const std::vector<int>& of(int node) const {
    return are_turned(node) ? backwards_ : forwards_;
  }

  /// Counts the edges inside all nodes. Returns those of the first node, which have the costs of all.
  [[nodiscard]] std::vector<EdgeCounter::Edge> count_inside(EdgeCounter& edges,
                                                            const Cluster& cluster) const {
    std::vector<EdgeCounter::Edge> inside;
    const auto per_node = static_cast<int>(forwards_.size());
    for (int i = 0; i + 1 < per_node; ++i) {
      if (!turns_) {
        inside.push_back(edges.add_on_all(forwards_[at(i)], forwards_[at(i + 1)]));
        continue;
      }
      for (int node = 0; node < cluster.nodes; ++node) {
        const auto rank = [&](int place) { return Rank{node * per_node + of(node)[at(place)]}; };
        const EdgeCounter::Edge edge = edges.add(rank(i), rank(i + 1));
        if (node == 0) inside.push_back(edge);
      }
    }
    return inside;
  }

private:
  bool turns_;
  std::vector<int> forwards_, backwards_;
};

/// The chain of a channel that begins or ends at the root, counted; returns its length.
PatternMaker::Path count_opened_ring(EdgeCounter& edges, const Cluster& cluster, const Channel& channel,
                                     Rank root, bool is_towards_root) {
  const int per_node = cluster.gpus_on_node.front();
  const NodeOrders orders(cluster, channel);
  const std::vector<EdgeCounter::Edge> inside = orders.count_inside(edges, cluster);
  const int ranks = cluster.ranks();
  const int node_of_root = index(root) / per_node;
  const auto of_root =
      std::ranges::find(orders.of(node_of_root), index(root) % per_node) - orders.of(node_of_root).begin();
  // the place in the ring where data begins; no edge leads there
  const int first = (node_of_root * per_node + static_cast<int>(of_root) + (is_towards_root ? 1 : 0)) % ranks;
  if (const int place = first % per_node; place > 0) {
    const std::vector<int>& order = orders.of(first / per_node);
    edges.remove(first / per_node, order[at(place - 1)], order[at(place)]);
  }
  PatternMaker::Path path{.edges = ranks - 1, .latency = {}};
  int node = first / per_node;
  int place = first % per_node;
  for (int edge = 0; edge + 1 < ranks; ++edge) {
    if (place + 1 < per_node) {
      const int of_first = orders.are_turned(node) ? per_node - 2 - place : place;
      path.latency += inside[at(of_first)].latency;
      ++place;
      continue;
    }
    const int next = (node + 1) % cluster.nodes;
    path.latency +=
        edges.add_between(node, orders.of(node).back(), next, orders.of(next).front(), channel.nic).latency;
    node = next;
    place = 0;
  }
  return path;
}

/// One chunked phase.
void add_opened_rings(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                      const CollectiveRequest& request, std::span<const Channel> channels, double share,
                      double flows) {
  const bool is_towards_root = request.operation == Operation::reduce;
  if (can_count(cluster, request)) {
    EdgeCounter edges(cluster, overheads, request.protocol);
    PatternMaker::Path longest;
    for (const Channel& channel : channels) {
      const auto way = count_opened_ring(edges, cluster, channel, request.root, is_towards_root);
      longest = {std::max(longest.edges, way.edges), std::max(longest.latency, way.latency)};
    }
    add_chunked(plan, edges, longest, share, flows);
    return;
  }
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(request.group.size() * channels.size());
  for (const Channel& channel : channels) {
    add_edges(maker, opened_ring(channel.order, request.root, is_towards_root), request.operation,
              channel.nic);
  }
  add_chunked(plan, maker, share, flows);
}

/// One phase of rounds.
void add_rings(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
               const CollectiveRequest& request, std::span<const Channel> channels, double share,
               double flows) {
  const auto ranks = static_cast<int>(request.group.size());
  const int rounds = ring_rounds(request.operation, ranks);
  const std::size_t nodes = node_count(cluster, request.group);
  const double part = nodes > 1 ? static_cast<double>(nodes) / ranks : 0;
  if (can_count(cluster, request)) {
    EdgeCounter edges(cluster, overheads, request.protocol);
    RingCounter rings(edges);
    for (const Channel& channel : channels) count_ring(edges, rings, cluster, channel);
    const Bandwidth pace = overheads.between ? edges.pace(flows) : Bandwidth{};
    add_rounds(plan, edges, rounds, share, rings.largest_mean(), flows);
    add_turns(plan, overheads, pace, part, static_cast<int>(channels.size()));
    return;
  }
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(request.group.size() * channels.size());
  for (const Channel& channel : channels) add_ring(maker, channel.order, channel.nic);
  const Bandwidth pace = overheads.between && part > 0 ? maker.pace(flows) : Bandwidth{};
  add_rounds(plan, maker, rounds, share, ring_latency(maker, ranks), flows);
  add_turns(plan, overheads, pace, part, static_cast<int>(channels.size()));
}

}  // namespace

void add_ring(PatternMaker& maker, std::span<const Rank> order, int nic) {
  const auto n = static_cast<int>(order.size());
  const auto first = static_cast<int>(maker.pattern().edges.size());
  for (int i = 0; i < n; ++i) {
    const std::int32_t before[] = {first + (i + n - 1) % n};
    maker.add(order[at(i)], order[at((i + 1) % n)], nic, before);
  }
}

void count_ring(EdgeCounter& edges, RingCounter& rings, const Cluster& cluster, const Channel& channel) {
  const NodeOrders orders(cluster, channel);
  const std::vector<EdgeCounter::Edge> inside = orders.count_inside(edges, cluster);
  for (int node = 0; node < cluster.nodes; ++node) {
    for (const EdgeCounter::Edge& edge : inside) rings.add(edge);
    const int next = (node + 1) % cluster.nodes;
    rings.add(edges.add_between(node, orders.of(node).back(), next, orders.of(next).front(), channel.nic));
  }
  rings.end_ring();
}

void count_ring(EdgeCounter& edges, RingCounter& rings, std::span<const Rank> order, int nic) {
  for (std::size_t i = 0; i < order.size(); ++i)
    rings.add(edges.add(order[i], order[(i + 1) % order.size()], nic));
  rings.end_ring();
}

std::vector<Channel> channels_of(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 std::span<const Rank> group, std::vector<std::string>* notes) {
  std::vector<Channel> channels = ring_channels(cluster, group, notes);
  if (std::isfinite(overheads.sums.si())) channels.resize(1);
  return channels;
}

std::vector<Channel> channels_for(const Cluster& cluster, const ProtocolOverheads& overheads,
                                  const CollectiveRequest& request, std::vector<std::string>* notes) {
  if (!can_count(cluster, request)) return channels_of(cluster, overheads, request.group, notes);
  std::vector<Channel> channels = sample_channels(cluster, request.group, notes);
  if (std::isfinite(overheads.sums.si())) channels.resize(1);
  return channels;
}

Seconds ring_latency(PatternMaker& maker, int ranks) { return maker.largest_mean_latency(at(ranks)); }

int ring_rounds(Operation operation, int ranks) {
  return operation == Operation::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

CollectivePlan ring(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request) {
  require(cluster, request, Algorithm::ring);
  if (request.group.size() < 2) return new_plan(overheads, request, Algorithm::ring);
  std::vector<std::string> notes;
  const std::vector<Channel> channels = channels_for(cluster, overheads, request, &notes);
  if (channels.front().is_chain) refuse(cluster, request, Algorithm::ring, no_ring(request.group.size()));
  CollectivePlan plan = ring(cluster, overheads, request, channels);
  plan.notes = std::move(notes);
  return plan;
}

CollectivePlan ring(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request, std::span<const Channel> channels) {
  CollectivePlan plan = new_plan(overheads, request, Algorithm::ring, channels.size());
  const auto ranks = static_cast<int>(request.group.size());
  const double share = 1.0 / static_cast<double>(channels.size());
  const double flows = flows_per_channel(cluster, request.group, channels.size());
  if (has_root(request.operation)) {
    add_opened_rings(plan, cluster, overheads, request, channels, share, flows);
    add_sums(plan, overheads, static_cast<double>(channels.size()) * summed_part(request.operation));
  } else {
    add_rings(plan, cluster, overheads, request, channels, share / ranks, flows);
    if (overheads.sums_beside && request.operation == Operation::all_reduce)
      slow_down(plan, ranks - 1, overheads.sums / static_cast<double>(channels.size()));
    else
      add_sums(plan, overheads, static_cast<double>(channels.size()) * summed_part(request.operation));
  }
  if (can_count(cluster, request)) add_sources(plan, cluster, overheads, request, ring);
  return plan;
}

}  // namespace trainyard
