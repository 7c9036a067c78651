#pragma once
// Lower bounds for collectives on a given machine, from specified bandwidths and the latencies of messages
// (protocol_overheads.hpp): a run whose numbers are better than physics fails this check.

#include "collectives/operation.hpp"
#include "collectives/protocol_overheads.hpp"
#include "platform/cluster.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// A lower bound on an operation over a group (ascending) for any algorithm; zero for one rank. The largest
/// of:
/// - bandwidth: the bytes that must leave each of several parties, at the specified rates of all links that
///   lead out of it. Parties are the ranks, the nodes with their NICs and, where the fabric narrows, its
///   switches, groups or halves. An all_reduce among m parties moves 2(m-1) sizes in all (Patarasuk and Yuan
///   2009, section 3); in the other operations a party sends the data needed by ranks outside it;
/// - latency: between nodes one hop through the fabric; on one node one message over the quickest path, with
///   the quickest protocol. The ceil(log2 n) hops of the literature hold only if a rank sends one message at
///   a time.
/// `overheads`: the software's latencies, which stand in place of the wire's inside a node.
Seconds collective_bound(const Cluster& cluster, const ProtocolOverheads& overheads, Operation operation,
                         std::span<const Rank> group, Bytes size);

/// A group that has the bounds of others, and groups that share its links.
struct BoundingGroup {
  std::vector<Rank> ranks;  ///< ascending
  /// Groups with as many ranks on each of the same nodes, with it. Counted where the ways between all GPUs of
  /// a node are alike: elsewhere groups may be planned in ways that cannot be simulated together
  /// (planner.hpp), and one stands for all.
  int together = 1;
};

/// Groups that have all bounds of `groups` between them: one for each set of GPUs in a node, and one for each
/// way of being spread over nodes, switches and the like. Ranks of a group in any order.
std::vector<BoundingGroup> bounding_groups(const Cluster& cluster, const RankGroups& groups);

/// The largest bound of several groups that carry out the operation at the same time. Groups on the same
/// nodes share NICs and switches, which all their bytes must pass. Other sharing is ignored, also that of
/// operations with a root.
Seconds collective_bound(const Cluster& cluster, const ProtocolOverheads& overheads, Operation operation,
                         std::span<const BoundingGroup> groups, Bytes size);

}  // namespace trainyard
