#include "platform/channels.hpp"

#include "platform/node_visits.hpp"
#include "platform/ring_search.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <utility>

namespace trainyard {
namespace {

/// The part of a group on one node.
struct Share {
  int node = 0;
  std::vector<int> gpus;  ///< numbers in the node, ascending
};

std::vector<Share> shares_of(const Cluster& cluster, std::span<const Rank> group) {
  std::vector<Share> shares;
  for (const Rank rank : group) {
    const bool is_on_last = !shares.empty() && index(rank) < cluster.first_rank[at(shares.back().node) + 1];
    if (!is_on_last) shares.push_back({index(cluster.node_of(rank)), {}});
    shares.back().gpus.push_back(index(rank) - cluster.first_rank[at(shares.back().node)]);
  }
  return shares;
}

Rank rank_of(const Cluster& cluster, int node, int gpu) { return Rank{cluster.first_rank[at(node)] + gpu}; }

/// GPUs that NVLinks do not join must each reach the first; routes are symmetric, so all then reach each
/// other.
void check_reachable(const Cluster& cluster, const std::vector<int>& gpus) {
  if (is_connected(gpu_lanes(cluster.platform, gpus))) return;
  for (const int gpu : gpus) {
    if (cluster.inside.gpu_to_gpu[at(gpus.front())][at(gpu)].reachable) continue;
    const NodeGraph& graph = cluster.platform.node;
    const auto name = [&](int number) { return graph[cluster.platform.gpus[at(number)]].name; };
    throw Unreachable(name(gpu) + " of " + cluster.platform.name + " cannot be reached from " +
                      name(gpus.front()) + ": no links lead from one to the other");
  }
}

/// The lowest limit of a connection between neighbours inside nodes.
Bandwidth limit_inside(const Cluster& cluster, const GpuOrder& order, bool is_closed) {
  Bandwidth limit{std::numeric_limits<double>::infinity()};
  const std::size_t hops = is_closed ? order.size() : order.size() - 1;
  for (std::size_t i = 0; i < hops; ++i)
    limit = std::min(limit, cluster.inside.gpu_to_gpu[at(order[i])][at(order[(i + 1) % order.size()])].limit);
  return limit;
}

std::vector<Channel> channels_of_one_node(const Cluster& cluster, const Share& share,
                                          std::vector<std::string>* notes) {
  std::vector<Channel> channels;
  const auto add = [&](const GpuOrder& order, bool is_chain) {
    Channel channel;
    for (const int gpu : order) channel.order.push_back(rank_of(cluster, share.node, gpu));
    channel.is_chain = is_chain;
    channel.limit = limit_inside(cluster, order, !is_chain);
    channels.push_back(std::move(channel));
  };
  const auto numbers = [&](GpuOrder positions) {
    for (int& gpu : positions) gpu = share.gpus[at(gpu)];
    return positions;
  };
  const LaneGraph lanes = gpu_lanes(cluster.platform, share.gpus);
  if (is_connected(lanes)) {
    const RingSearch found = find_rings(lanes);
    for (const GpuOrder& ring : found.rings) add(numbers(ring), false);
    if (!found.is_exact && notes != nullptr) {
      notes->push_back(
          fmt::format("the search for rings through the {} GPUs stopped at {} rings; more may exist, which "
                      "would make collectives faster",
                      share.gpus.size(), found.rings.size()));
    }
    if (!channels.empty()) return channels;
    if (const auto chain = find_chain(lanes)) {
      add(numbers(*chain), true);
      return channels;
    }
  }
  const std::vector<int> followers(share.gpus.begin() + 1, share.gpus.end());
  add(continued_nearest_first(cluster, {share.gpus.front()}, followers), false);
  return channels;
}

/// A value for each distinct set of GPUs; nodes with equal sets are the same.
template <class T>
using ByGpus = std::map<std::vector<int>, T>;

/// The NICs for rings through nodes with each set of GPUs, the same number for all sets; the same NICs if
/// `are_common`.
struct NicChoice {
  ByGpus<std::vector<int>> nics;
  bool are_common = true;
};

NicChoice choose_nics(const Cluster& cluster, const ByGpus<std::vector<GpuOrder>>& sets) {
  std::optional<std::vector<int>> common;
  for (const auto& [gpus, unused] : sets) {
    const std::vector<int> near = nics_near(cluster, gpus);
    if (near.empty()) {
      throw Unreachable(cluster.platform.node[cluster.platform.gpus[at(gpus.front())]].name + " of " +
                        cluster.platform.name + " cannot reach any NIC");
    }
    if (!common) common = near;
    std::erase_if(*common, [&](int nic) { return std::ranges::find(near, nic) == near.end(); });
  }
  NicChoice choice{.nics = {}, .are_common = !common->empty()};
  std::size_t fewest = cluster.platform.nics.size();
  for (const auto& [gpus, unused] : sets) {
    choice.nics[gpus] = choice.are_common ? *common : nearest_nics(cluster, gpus);
    fewest = std::min(fewest, choice.nics[gpus].size());
  }
  for (auto& [gpus, nics] : choice.nics) nics.resize(fewest);
  return choice;
}

/// RCCL's rings through nodes whose GPUs in use have the same numbers. Each GPU at a border uses its own NIC;
/// between an odd number of nodes the last and the first one do so on different rails.
std::vector<Channel> rccl_channels(const Cluster& cluster, const std::vector<Share>& shares) {
  const std::vector<int>& gpus = shares.front().gpus;
  if (!std::ranges::all_of(shares, [&](const Share& share) { return share.gpus == gpus; })) return {};
  std::vector<Channel> channels;
  for (GpuOrder& visit : rccl_visits(cluster, gpus)) {
    Channel& channel = channels.emplace_back();
    channel.nic = own_nics;
    channel.turns = true;
    channel.limit = std::min(cluster.platform.fabric.per_flow.value, limit_inside(cluster, visit, false));
    for (const Share& share : shares) {
      for (const int gpu : visit) channel.order.push_back(rank_of(cluster, share.node, gpu));
      std::ranges::reverse(visit);
    }
  }
  return channels;
}

std::vector<Channel> channels_between_nodes(const Cluster& cluster, std::span<const Rank> group,
                                            const std::vector<Share>& shares) {
  if (std::vector<Channel> channels = rccl_channels(cluster, shares); !channels.empty()) return channels;
  ByGpus<std::vector<GpuOrder>> visits;
  std::size_t fewest_ranks = group.size();
  for (const Share& share : shares) {
    visits[share.gpus];
    fewest_ranks = std::min(fewest_ranks, share.gpus.size());
  }
  const NicChoice choice = choose_nics(cluster, visits);
  for (auto& [gpus, found] : visits) found = node_visits(cluster, gpus, choice.nics.at(gpus));

  std::vector<Channel> channels(choice.nics.begin()->second.size());
  for (std::size_t k = 0; k < channels.size(); ++k) {
    Channel& channel = channels[k];
    if (choice.are_common) channel.nic = choice.nics.begin()->second[k];
    channel.limit = cluster.platform.fabric.per_flow.value *
                    (static_cast<double>(fewest_ranks) / static_cast<double>(channels.size()));
    for (const auto& [gpus, found] : visits)
      channel.limit = std::min(channel.limit, limit_inside(cluster, found[k], false));
    channel.order.reserve(group.size());
  }
  for (const Share& share : shares) {
    const std::vector<GpuOrder>& found = visits.find(share.gpus)->second;
    for (std::size_t k = 0; k < channels.size(); ++k) {
      for (const int gpu : found[k]) channels[k].order.push_back(rank_of(cluster, share.node, gpu));
    }
  }
  return channels;
}

void widen(std::optional<PathType>& worst, PathType type) { worst = worst ? worse(*worst, type) : type; }

}  // namespace

std::vector<Channel> ring_channels(const Cluster& cluster, std::span<const Rank> group,
                                   std::vector<std::string>* notes) {
  if (group.size() < 2) return {};
  const std::vector<Share> shares = shares_of(cluster, group);
  ByGpus<bool> checked;
  for (const Share& share : shares) {
    if (checked.emplace(share.gpus, true).second) check_reachable(cluster, share.gpus);
  }
  return shares.size() == 1 ? channels_of_one_node(cluster, shares.front(), notes)
                            : channels_between_nodes(cluster, group, shares);
}

std::vector<Channel> sample_channels(const Cluster& cluster, std::span<const Rank> group,
                                     std::vector<std::string>* notes) {
  const bool repeats = cluster.nodes > 2 && fills_alike_nodes(cluster, group);
  return ring_channels(cluster, repeats ? group.first(at(cluster.first_rank[2])) : group, notes);
}

std::vector<Channel> ring_channels(const Cluster& cluster, std::vector<std::string>* notes) {
  return ring_channels(cluster, all_ranks(cluster), notes);
}

std::vector<Rank> all_ranks(const Cluster& cluster) {
  std::vector<Rank> ranks(at(cluster.ranks()));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = Rank{static_cast<int>(i)};
  return ranks;
}

ChannelFacts channel_facts(const Cluster& cluster, std::span<const Channel> channels) {
  ChannelFacts facts{.channels = static_cast<int>(channels.size())};
  for (const Channel& channel : channels) {
    const auto nic_of = [&](int gpu) {
      return at(channel.nic >= 0 ? channel.nic : cluster.inside.nearest_nic[at(gpu)]);
    };
    const std::size_t hops = channel.is_chain ? channel.order.size() - 1 : channel.order.size();
    int node = index(cluster.node_of(channel.order.front()));
    for (std::size_t i = 0; i < hops; ++i) {
      const Rank next = channel.order[(i + 1) % channel.order.size()];
      const int from = index(channel.order[i]) - cluster.first_rank[at(node)];
      const bool stays =
          index(next) >= cluster.first_rank[at(node)] && index(next) < cluster.first_rank[at(node) + 1];
      if (!stays) {
        const int sender = channel.nic < 0 ? from : sender_through(cluster, channel.order[i], channel.nic);
        facts.has_proxies = facts.has_proxies || sender != from;
        widen(facts.to_nic, cluster.inside.gpu_to_nic[at(sender)][nic_of(sender)].type);
        node = index(cluster.node_of(next));
      }
      const int to = index(next) - cluster.first_rank[at(node)];
      widen(stays ? facts.inside : facts.to_nic, stays ? cluster.inside.gpu_to_gpu[at(from)][at(to)].type
                                                       : cluster.inside.gpu_to_nic[at(to)][nic_of(to)].type);
    }
  }
  return facts;
}

}  // namespace trainyard
