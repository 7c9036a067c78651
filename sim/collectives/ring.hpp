#pragma once
// Rings over any number of channels. All-reduce is reduce-scatter then all-gather, 2(n-1) rounds in which
// every rank sends 1/n of its channel's share to its neighbour; each half alone takes n-1 rounds. Broadcast
// and reduce run along the ring in chunks, a chain that begins or ends at the root.

#include "collectives/edge_counter.hpp"
#include "collectives/plan.hpp"
#include "platform/channels.hpp"

#include <span>

namespace trainyard {

/// The plan over the group's channels in the link graph. Operations: all that have another algorithm
/// than `direct`. Throws InputError if NVLinks form only a chain through the group, Unreachable if some ranks
/// cannot reach each other.
CollectivePlan ring(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request);

/// As above, with channels_for() the request, if the caller already knows them; none may be a chain.
CollectivePlan ring(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request, std::span<const Channel> channels);

/// The group's channels; of a library that sums in one thread, the first alone.
std::vector<Channel> channels_of(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 std::span<const Rank> group, std::vector<std::string>* notes = nullptr);

/// The channels of a request, as sample_channels() if its edges can be counted.
std::vector<Channel> channels_for(const Cluster& cluster, const ProtocolOverheads& overheads,
                                  const CollectiveRequest& request,
                                  std::vector<std::string>* notes = nullptr);

/// One edge from each rank of the order to the next and from the last to the first; each passes on the data
/// delivered by the previous edge.
void add_ring(PatternMaker& maker, std::span<const Rank> order, int nic = -1);

/// Counts the edges of a channel whose order goes on from node to node as it begins
/// (sample_channels()).
void count_ring(EdgeCounter& edges, RingCounter& rings, const Cluster& cluster, const Channel& channel);

/// Counts the edges of ranks in any order.
void count_ring(EdgeCounter& edges, RingCounter& rings, std::span<const Rank> order, int nic = -1);

/// Latency per round. A chunk goes (nearly) twice round an all_reduce's ring, so each edge's latency counts
/// 2(n-1)/n times in 2(n-1) rounds: a round costs the mean over the edges. `maker` holds only rings of
/// `ranks` ranks; the slowest ring counts.
Seconds ring_latency(PatternMaker& maker, int ranks);

/// Rounds of an all_reduce, or of its halves reduce_scatter and all_gather.
int ring_rounds(Operation operation, int ranks);

/// Two levels, the inner one of rings: a reduce-scatter begins with the inner rounds, an all-gather ends with
/// them, an all-reduce does both.
template <class AddInner, class AddOuter>
void add_levels(CollectivePlan& plan, AddInner add_inner, AddOuter add_outer) {
  const bool is_gathering = plan.operation == Operation::all_gather;
  if (!is_gathering) add_inner();
  add_outer();
  if (is_gathering) add_inner();
  if (plan.operation == Operation::all_reduce) repeat_rounds(plan, 0);
}

}  // namespace trainyard
