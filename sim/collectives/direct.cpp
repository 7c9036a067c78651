#include "collectives/algorithm_plans.hpp"
#include "collectives/all_pairs.hpp"
#include "collectives/requirements.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// A rank's messages leave one after the other, and only the first of them has the extra cost: as part of all
/// of them, for which the phase's limit stands.
void add_all_pairs(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                   const CollectiveRequest& request) {
  AllPairs all = all_pairs(cluster, overheads, request);
  plan.phases.push_back({.pattern = static_cast<int>(plan.patterns.size()),
                         .messages = 1,
                         .share = 1.0 / static_cast<double>(request.group.size()),
                         .hops = 0,
                         .latency = all.latency,
                         .limit = all.limit,
                         .startup = all.startup / static_cast<double>(request.group.size() - 1)});
  plan.patterns.push_back(std::move(all.pattern));
}

/// The channels of the groups' messages, where all groups have any.
MessageChannels channels_of(const Cluster& cluster, const ProtocolOverheads& overheads,
                            const CollectiveRequest& request) {
  MessageChannels least = all_to_all_channels(cluster, overheads, request.group, request.protocol);
  for (const std::vector<Rank>& other : request.concurrent) {
    const MessageChannels channels = all_to_all_channels(cluster, overheads, other, request.protocol);
    if (channels.most < least.most) least = channels;
  }
  return least;
}

/// Adds messages by NCCL's kernels for pairs, which have costs of their own.
void add_messages(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                  const CollectiveRequest& request, const MessageChannels& channels) {
  constexpr double half_are_flags = 0.5;
  const bool is_simple = request.protocol == Protocol::simple;
  const PairOverheads& pairs = overheads.pairs.value();
  ProtocolOverheads of_pairs = overheads;
  const auto protocol = static_cast<std::size_t>(request.protocol);
  for (std::size_t type = 0; is_nvlink(static_cast<PathType>(type)); ++type) {
    of_pairs.step[type][protocol] = is_simple ? pairs.base_simple : pairs.base_ll;
    of_pairs.efficiency[type][protocol] = is_simple ? pairs.efficiency : half_are_flags;
    of_pairs.startup[type] = 0;
  }
  plan.overhead = Seconds{};
  add_all_pairs(plan, cluster, of_pairs, request);
  plan.phases.back().channels = channels;
}

/// Adds messages between ranks of several nodes. A rank posts its messages one after the other.
void add_messages_between(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                          const CollectiveRequest& request) {
  const BetweenOverheads& between = overheads.between.value();
  ProtocolOverheads of_messages = overheads;
  constexpr auto network = static_cast<std::size_t>(PathType::network);
  for (double& part : of_messages.efficiency[network]) part *= between.efficiency;
  for (std::size_t type = 0; type < path_types; ++type) {
    if (type != network) of_messages.startup[type] = 0;  // of rings, and over before messages between nodes
  }
  plan.overhead = between.base;
  add_all_pairs(plan, cluster, of_messages, request);
  std::size_t fewest_here = request.group.size();
  for (const NodeShare& share : node_shares(cluster, request.group))
    fewest_here = std::min(fewest_here, share.ranks.size());
  plan.phases.back().latency = between.peer * static_cast<double>(request.group.size() - fewest_here);
}

/// Adds the two phases of an all_reduce between all pairs, over xGMI with the costs of RCCL's kernels for it.
void add_all_reduce(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request) {
  const auto protocol = static_cast<std::size_t>(request.protocol);
  const bool has_own = overheads.all_pairs && overheads.all_pairs->efficiency[protocol] > 0;
  ProtocolOverheads of_pairs = overheads;
  if (has_own) {
    constexpr auto xgmi = static_cast<std::size_t>(PathType::xgmi);
    of_pairs.step[xgmi][protocol] = overheads.all_pairs->step[protocol];
    of_pairs.efficiency[xgmi][protocol] = overheads.all_pairs->efficiency[protocol];
    of_pairs.startup[xgmi] = 0;
    plan.overhead = Seconds{};
  }
  add_all_pairs(plan, cluster, of_pairs, request);
}

}  // namespace

CollectivePlan direct(const Cluster& cluster, const ProtocolOverheads& overheads,
                      const CollectiveRequest& request) {
  require(cluster, request, Algorithm::direct);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::direct);
  const std::vector<Rank>& group = request.group;
  if (group.size() < 2) return plan;
  PatternMaker maker(cluster, overheads, request);
  double share = 1;
  switch (request.operation) {
    case Operation::all_to_all:
      if (const MessageChannels channels = channels_of(cluster, overheads, request); channels.most > 0) {
        add_messages(plan, cluster, overheads, request, channels);
      } else if (overheads.between && node_count(cluster, group) > 1) {
        add_messages_between(plan, cluster, overheads, request);
      } else {
        add_all_pairs(plan, cluster, overheads, request);
      }
      return plan;
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::all_reduce:
      if (request.operation == Operation::all_reduce) {
        add_all_reduce(plan, cluster, overheads, request);
      } else {
        add_all_pairs(plan, cluster, overheads, request);
      }
      // a receiver adds the parts of all others, one after the other
      if (request.operation == Operation::all_reduce || request.operation == Operation::reduce_scatter)
        add_sums(plan, overheads, static_cast<double>(group.size() - 1));
      if (request.operation == Operation::all_reduce) repeat_rounds(plan, 0);
      return plan;
    case Operation::gather:
    case Operation::scatter:
      share = 1.0 / static_cast<double>(group.size());
      [[fallthrough]];
    case Operation::broadcast:
    case Operation::reduce: {
      const bool comes_in = request.operation == Operation::reduce || request.operation == Operation::gather;
      for (const Rank rank : group) {
        if (rank == request.root) continue;
        maker.add(comes_in ? rank : request.root, comes_in ? request.root : rank);
      }
      break;
    }
    case Operation::send_recv:
      for (std::size_t i = 0; i < (request.one_way ? 1 : group.size()); ++i)
        maker.add(group[i], group[(i + 1) % group.size()]);
      break;
  }
  add_rounds(plan, maker, 1, share, maker.largest_latency());
  if (request.operation == Operation::reduce)
    add_sums(plan, overheads, static_cast<double>(group.size() - 1));
  return plan;
}

}  // namespace trainyard
