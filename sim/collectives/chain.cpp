#include "collectives/algorithm_plans.hpp"
#include "collectives/rank_tree.hpp"
#include "collectives/requirements.hpp"
#include "collectives/ring.hpp"
#include "platform/channels.hpp"

namespace trainyard {

namespace {

RankTree tree_of(const Channel& channel, const CollectiveRequest& request) {
  if (request.operation == Operation::all_reduce) return line(channel.order, channel.order.back());
  if (channel.is_chain) return line(channel.order, request.root);
  return opened_ring(channel.order, request.root, request.operation == Operation::reduce);
}

}  // namespace

CollectivePlan chain(const Cluster& cluster, const ProtocolOverheads& overheads,
                     const CollectiveRequest& request) {
  require(cluster, request, Algorithm::chain);
  if (request.group.size() < 2) return new_plan(overheads, request, Algorithm::chain);
  return chain(cluster, overheads, request, channels_of(cluster, overheads, request.group));
}

CollectivePlan chain(const Cluster& cluster, const ProtocolOverheads& overheads,
                     const CollectiveRequest& request, std::span<const Channel> channels) {
  CollectivePlan plan = new_plan(overheads, request, Algorithm::chain, channels.size());
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(2 * request.group.size() * channels.size());
  for (const Channel& channel : channels)
    add_edges(maker, tree_of(channel, request), request.operation, channel.nic);
  if (channels.front().is_chain) {
    for (int edge = 0; edge < static_cast<int>(maker.pattern().edges.size()); ++edge)
      maker.hold_to_one_lane(edge);
  }
  add_chunked(plan, maker, 1.0 / static_cast<double>(channels.size()),
              flows_per_channel(cluster, request.group, channels.size()));
  add_sums(plan, overheads, reduces(request.operation) ? static_cast<double>(channels.size()) : 0);
  return plan;
}

}  // namespace trainyard
