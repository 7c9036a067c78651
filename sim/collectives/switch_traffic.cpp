#include "collectives/switch_traffic.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

namespace trainyard {

namespace {

/// Traffic of the ranks below one switch.
struct SwitchTraffic {
  Port first;  ///< two of its ports, on different nodes if possible
  Port last;
  std::vector<std::int64_t> senders;    ///< by the receiver's NIC: ranks that send to it from here
  std::vector<std::int64_t> receivers;  ///< by NIC: ranks that receive here
  Seconds longest_out;                  ///< largest latency from a rank to its port
  Seconds longest_in;
};

/// The ranks that receive, by their nearest NIC.
class Receivers {
public:
  explicit Receivers(const Cluster& cluster)
      : cluster_(cluster), samples_(cluster.platform.nics.size()), counts_(samples_.size(), 0) {}

  [[nodiscard]] std::size_t nics() const { return counts_.size(); }
  /// The number of the rank's GPU in its node.
  [[nodiscard]] std::size_t gpu(Rank rank, NodeId node) const {
    return at(index(rank) - cluster_.first_rank[at(index(node))]);
  }
  /// The nearest NIC; negative if there is none: Unreachable is thrown when the rank sends.
  [[nodiscard]] int nic_of(Rank rank, NodeId node) const {
    return cluster_.inside.nearest_nic[gpu(rank, node)];
  }

  void add(Rank rank, NodeId node, int nic) {
    ++counts_[at(nic)];
    std::vector<Rank>& some = samples_[at(nic)];
    if (some.empty() || (some.size() == 1 && cluster_.node_of(some.front()) != node)) some.push_back(rank);
  }

  [[nodiscard]] std::int64_t count(std::size_t nic) const { return counts_[nic]; }
  [[nodiscard]] std::int64_t all() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  }
  /// One of them on another node than this.
  [[nodiscard]] Rank elsewhere(std::size_t nic, NodeId node) const {
    const std::vector<Rank>& some = samples_[nic];
    return cluster_.node_of(some.front()) == node ? some.back() : some.front();
  }

private:
  const Cluster& cluster_;
  std::vector<std::vector<Rank>> samples_;  ///< a receiver, and one on another node
  std::vector<std::int64_t> counts_;
};

/// A rank of another node than this.
Rank rank_elsewhere(const std::vector<NodeShare>& shares, NodeId node) {
  return (shares.front().node == node ? shares.back() : shares.front()).ranks.front();
}

class TrafficCounter {
public:
  TrafficCounter(const Cluster& cluster, const std::vector<NodeShare>& shares,
                 const TrafficListener& listener)
      : cluster_(cluster),
        shares_(shares),
        listener_(listener),
        receivers_(cluster),
        nics_(receivers_.nics()) {}

  void count() {
    std::vector<ByNic> here(shares_.size(), ByNic(nics_, 0));
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      for (const Rank rank : shares_[i].ranks) add_receiver(rank, shares_[i].node, here[i]);
    }
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      for (const Rank rank : shares_[i].ranks) {
        add_ways_out(rank, shares_[i].node, here[i]);
        add_way_in(rank, shares_[i].node, shares_[i].ranks.size());
      }
    }
    add_fabric();
  }

private:
  using ByNic = std::vector<std::int64_t>;  ///< number of ranks by their nearest NIC

  /// Adds the traffic between switches, once all ranks are known.
  void add_fabric() {
    for (std::size_t from = 0; from < switches_.size(); ++from) {
      for (std::size_t to = 0; to < switches_.size(); ++to) {
        std::int64_t messages = 0;
        for (std::size_t nic = 0; nic < nics_; ++nic)
          messages += switches_[from].senders[nic] * switches_[to].receivers[nic];
        if (const auto own = within_nodes_.find({from, to}); own != within_nodes_.end())
          messages -= own->second;
        if (messages == 0) continue;
        links_.clear();
        const Port there = from == to ? switches_[to].last : switches_[to].first;
        const Seconds across = append_across(switches_[from].first, there);
        listener_.add_links(links_, messages);
        note(switches_[from].longest_out + across + switches_[to].longest_in);
      }
    }
  }

  std::size_t place_of(Port port) {
    const auto [entry, is_new] = places_.try_emplace(cluster_.network->first_switch(port), switches_.size());
    if (is_new) switches_.push_back({port, port, ByNic(nics_, 0), ByNic(nics_, 0), {}, {}});
    if (port.node != switches_[entry->second].first.node) switches_[entry->second].last = port;
    return entry->second;
  }

  void note(Seconds latency) {
    listener_.note_way({latency, PathType::network, cluster_.platform.fabric.per_flow.value});
  }

  /// Appends the part of a route between two ports; returns its latency.
  Seconds append_across(Port from, Port to) {
    const std::uint32_t first = link_count(cluster_) - cluster_.network->links();
    const auto across = cluster_.network->append_route(from, to, first, links_);
    if (across) return *across;
    const auto name = [&](Port port) {
      return "node" + std::to_string(port.node) + "." +
             cluster_.platform.node[cluster_.platform.nics[at(port.nic)]].name;
    };
    throw Unreachable(name(from) + " cannot reach " + name(to) + " on " + cluster_.platform.name +
                      ": no path of fabric links connects them");
  }

  /// Links are numbered node by node: first the inside ones, then two per NIC (cluster.hpp).
  [[nodiscard]] int nic_of(LinkId port_link) const {
    const auto inside = static_cast<std::uint32_t>(cluster_.inside.capacity.size());
    const std::uint32_t per_node = inside + 2 * static_cast<std::uint32_t>(nics_);
    return static_cast<int>((index(port_link) % per_node - inside) / 2);
  }

  void add_receiver(Rank rank, NodeId node, ByNic& here) {
    const int nic = receivers_.nic_of(rank, node);
    if (nic < 0) return;
    ++here[at(nic)];
    receivers_.add(rank, node, nic);
    SwitchTraffic& traffic = switches_[place_of({index(node), nic})];
    ++traffic.receivers[at(nic)];
    traffic.longest_in = std::max(traffic.longest_in, way_in(rank, node));
  }

  [[nodiscard]] Seconds way_in(Rank rank, NodeId node) const {
    return cluster_.inside.nic_to_gpu[at(receivers_.nic_of(rank, node))][receivers_.gpu(rank, node)].latency;
  }

  /// Adds the rank's routes to the receivers of each NIC on other nodes, up to the port where they leave the
  /// node.
  void add_ways_out(Rank rank, NodeId node, const ByNic& here) {
    for (std::size_t nic = 0; nic < nics_; ++nic) {
      const std::int64_t messages = receivers_.count(nic) - here[nic];
      if (messages == 0) continue;
      const Rank to = receivers_.elsewhere(nic, node);
      const NodeId to_node = cluster_.node_of(to);
      links_.clear();
      const RouteSummary way = append_route(cluster_, rank, to, -1, links_);
      const auto leaves =
          std::ranges::find_if(links_, [&](LinkId link) { return is_fabric(cluster_, link); });
      listener_.add_links(std::span(links_.begin(), leaves + 1), messages);
      const Port port{index(node), nic_of(*leaves)};
      const std::size_t from = place_of(port);
      ++switches_[from].senders[nic];
      const Seconds across = append_across(port, {index(to_node), static_cast<int>(nic)});
      switches_[from].longest_out =
          std::max(switches_[from].longest_out, way.latency - across - way_in(to, to_node));
      if (here[nic] > 0) within_nodes_[{from, place_of({index(node), static_cast<int>(nic)})}] += here[nic];
    }
  }

  /// Adds the route from the port to the rank, for the messages of all ranks on other nodes.
  void add_way_in(Rank rank, NodeId node, std::size_t on_node) {
    links_.clear();
    (void)append_route(cluster_, rank_elsewhere(shares_, node), rank, -1, links_);
    const auto enters =
        std::find_if(links_.rbegin(), links_.rend(), [&](LinkId link) { return is_fabric(cluster_, link); });
    listener_.add_links(std::span(enters.base() - 1, links_.end()),
                        receivers_.all() - static_cast<std::int64_t>(on_node));
  }

  const Cluster& cluster_;
  const std::vector<NodeShare>& shares_;
  const TrafficListener& listener_;
  Receivers receivers_;
  std::size_t nics_;
  std::map<int, std::size_t> places_;  ///< by first_switch(): index in `switches_`
  std::vector<SwitchTraffic> switches_;
  /// By the sender's and the receiver's switch: pairs of ranks on one node, whose messages do not use the
  /// fabric.
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> within_nodes_;
  std::vector<LinkId> links_;
};

/// Counts on a fabric with a formula for traffic between all ranks below its switches.
class FormulaCounter {
public:
  FormulaCounter(const Cluster& cluster, const std::vector<NodeShare>& shares,
                 const TrafficListener& listener)
      : cluster_(cluster), shares_(shares), listener_(listener), receivers_(cluster) {}

  /// Whether the fabric has one; then everything is counted.
  bool count() {
    for (const NodeShare& share : shares_) {
      const std::size_t number = at(switch_of(share.node));
      if (number >= ranks_.size()) {
        ranks_.resize(number + 1, 0);
        nodes_.resize(number + 1, 0);
      }
      ranks_[number] += static_cast<std::int64_t>(share.ranks.size());
      ++nodes_[number];
    }
    const auto counts = cluster_.network->all_to_all_counts(ranks_);
    if (!counts) return false;
    longest_out_.resize(ranks_.size());
    longest_in_.resize(ranks_.size());
    for (const NodeShare& share : shares_) add_receivers(share);
    for (const NodeShare& share : shares_) add_ways(share);
    const std::uint32_t first = link_count(cluster_) - cluster_.network->links();
    for (std::uint32_t link = 0; link < counts->size(); ++link) {
      if ((*counts)[link] > 0) listener_.add_links(std::array{LinkId{first + link}}, (*counts)[link]);
    }
    note_longest();
    return true;
  }

private:
  [[nodiscard]] int switch_of(NodeId node) const { return cluster_.network->first_switch({index(node), 0}); }

  void add_receivers(const NodeShare& share) {
    for (const Rank rank : share.ranks) {
      const int nic = receivers_.nic_of(rank, share.node);
      if (nic >= 0) receivers_.add(rank, share.node, nic);
    }
  }

  /// The parts inside the node of all routes from and to its ranks.
  void add_ways(const NodeShare& share) {
    std::vector<std::int64_t> here(receivers_.nics(), 0);
    for (const Rank rank : share.ranks) {
      const int nic = receivers_.nic_of(rank, share.node);
      if (nic >= 0) ++here[at(nic)];
    }
    const std::int64_t elsewhere = receivers_.all() - static_cast<std::int64_t>(share.ranks.size());
    const Rank other = rank_elsewhere(shares_, share.node);
    const std::size_t below = at(switch_of(share.node));
    for (const Rank rank : share.ranks) {
      for (std::size_t nic = 0; nic < receivers_.nics(); ++nic) {
        const std::int64_t messages = receivers_.count(nic) - here[nic];
        if (messages == 0) continue;
        const WayBetween way = way_between(cluster_, rank, receivers_.elsewhere(nic, share.node), -1);
        links_.clear();
        if (way.to_sender != nullptr) append(share.node, *way.to_sender);
        append(share.node, *way.out);
        append_nic(share.node, way.nic_out, false);
        listener_.add_links(links_, messages);
        Seconds out = way.out->latency;
        if (way.to_sender != nullptr) out += way.to_sender->latency;
        longest_out_[below] = std::max(longest_out_[below], out);
      }
      const WayBetween way = way_between(cluster_, other, rank, -1);
      links_.clear();
      append_nic(share.node, way.nic_in, true);
      append(share.node, *way.in);
      listener_.add_links(links_, elsewhere);
      longest_in_[below] = std::max(longest_in_[below], way.in->latency);
    }
  }

  [[nodiscard]] std::uint32_t first_of(NodeId node) const {
    return static_cast<std::uint32_t>(index(node)) * links_per_node(cluster_);
  }
  void append(NodeId node, const NodePath& path) {
    for (const std::uint32_t link : path.links) links_.push_back(LinkId{first_of(node) + link});
  }
  void append_nic(NodeId node, int nic, bool is_inwards) {
    links_.push_back(LinkId{first_of(node) + nic_link_in_node(cluster_, nic, is_inwards)});
  }

  /// Switches whose ranks are equally far from their ports are asked for together.
  void note_longest() {
    std::map<Seconds, std::vector<bool>> senders;
    for (std::size_t below = 0; below < ranks_.size(); ++below) {
      if (ranks_[below] == 0) continue;
      std::vector<bool>& alike = senders[longest_out_[below]];
      alike.resize(ranks_.size(), false);
      alike[below] = true;
    }
    for (const auto& [out, from] : senders) {
      const bool is_one = std::ranges::count(from, true) == 1;
      const std::vector<Seconds> longest = cluster_.network->longest_routes(from);
      for (std::size_t to = 0; to < ranks_.size(); ++to) {
        const bool is_one_node = is_one && from[to] && nodes_[to] == 1;
        if (ranks_[to] == 0 || is_one_node) continue;
        listener_.note_way({out + longest[to] + longest_in_[to], PathType::network,
                            cluster_.platform.fabric.per_flow.value});
      }
    }
  }

  const Cluster& cluster_;
  const std::vector<NodeShare>& shares_;
  const TrafficListener& listener_;
  Receivers receivers_;
  // by switch
  std::vector<std::int64_t> ranks_;
  std::vector<int> nodes_;
  std::vector<Seconds> longest_out_;  ///< the largest latency from a rank to its port
  std::vector<Seconds> longest_in_;
  std::vector<LinkId> links_;
};

}  // namespace

void count_traffic_between_nodes(const Cluster& cluster, const std::vector<NodeShare>& shares,
                                 const TrafficListener& listener) {
  if (shares.size() < 2 || FormulaCounter(cluster, shares, listener).count()) return;
  count_traffic_pairwise(cluster, shares, listener);
}

void count_traffic_pairwise(const Cluster& cluster, const std::vector<NodeShare>& shares,
                            const TrafficListener& listener) {
  if (shares.size() > 1) TrafficCounter(cluster, shares, listener).count();
}

}  // namespace trainyard
