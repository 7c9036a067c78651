#include "collectives/algorithm_plans.hpp"
#include "collectives/all_pairs.hpp"
#include "collectives/requirements.hpp"

namespace trainyard {

namespace {

/// A rank's messages leave one after the other, and only the first of them has the extra cost: as part of all
/// of them, for which the phase's limit stands. Source: nccl-tests of all-to-alls on 8 A100 and 8 H100,
/// ai-dynamo/aiconfigurator (a100_sxm and h100_sxm, NCCL 2.27.3): 203 and 317 GB/s of bus bandwidth at 512
/// MiB.
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

}  // namespace

CollectivePlan direct(const Cluster& cluster, const ProtocolOverheads& overheads,
                      const CollectiveRequest& request) {
  require(cluster, request, Algorithm::direct);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::direct);
  const std::vector<Rank>& group = request.group;
  if (group.size() < 2) return plan;
  PatternMaker maker(cluster, overheads, request);
  switch (request.operation) {
    case Operation::all_to_all:
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::all_reduce:
      add_all_pairs(plan, cluster, overheads, request);
      // a receiver adds the parts of all others, one after the other
      if (request.operation == Operation::all_reduce || request.operation == Operation::reduce_scatter)
        add_sums(plan, overheads, static_cast<double>(group.size() - 1));
      if (request.operation == Operation::all_reduce) repeat_rounds(plan, 0);
      return plan;
    case Operation::broadcast:
    case Operation::reduce:
      for (const Rank rank : group) {
        if (rank == request.root) continue;
        const bool is_reduce = request.operation == Operation::reduce;
        maker.add(is_reduce ? rank : request.root, is_reduce ? request.root : rank);
      }
      break;
    case Operation::send_recv:
      for (std::size_t i = 0; i < (request.one_way ? 1 : group.size()); ++i)
        maker.add(group[i], group[(i + 1) % group.size()]);
      break;
  }
  add_rounds(plan, maker, 1, 1, maker.largest_latency());
  if (request.operation == Operation::reduce)
    add_sums(plan, overheads, static_cast<double>(group.size() - 1));
  return plan;
}

}  // namespace trainyard
