#include "collectives/ring.hpp"

#include "collectives/rank_tree.hpp"
#include "collectives/requirements.hpp"

namespace trainyard {

void add_ring(PatternMaker& maker, std::span<const Rank> order, int nic) {
  const auto n = static_cast<int>(order.size());
  const auto first = static_cast<int>(maker.pattern().edges.size());
  for (int i = 0; i < n; ++i) {
    const std::int32_t before[] = {first + (i + n - 1) % n};
    maker.add(order[at(i)], order[at((i + 1) % n)], nic, before);
  }
}

Seconds ring_latency(const PatternMaker& maker, int ranks) { return maker.largest_mean_latency(at(ranks)); }

int ring_rounds(Operation operation, int ranks) {
  return operation == Operation::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

CollectivePlan ring(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request) {
  require(cluster, request, Algorithm::ring);
  if (request.group.size() < 2) return new_plan(overheads, request, Algorithm::ring);
  std::vector<std::string> notes;
  const std::vector<Channel> channels = ring_channels(cluster, request.group, &notes);
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
  PatternMaker maker(cluster, overheads, request.protocol);
  maker.reserve(request.group.size() * channels.size());
  if (has_root(request.operation)) {
    for (const Channel& channel : channels) {
      const bool is_towards_root = request.operation == Operation::reduce;
      add_edges(maker, opened_ring(channel.order, request.root, is_towards_root), request.operation,
                channel.nic);
    }
    add_chunked(plan, maker, share, flows);
  } else {
    for (const Channel& channel : channels) add_ring(maker, channel.order, channel.nic);
    add_rounds(plan, maker, ring_rounds(request.operation, ranks), share / ranks, ring_latency(maker, ranks),
               flows);
  }
  return plan;
}

}  // namespace trainyard
