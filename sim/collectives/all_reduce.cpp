#include "collectives/all_reduce.hpp"

#include "collectives/chain.hpp"
#include "collectives/ring.hpp"
#include "config/diagnostic.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

bool is_chain(const AllReducePlan& plan) { return plan.channels.front().is_chain; }

}  // namespace

AllReducePlan plan_all_reduce(const Cluster& cluster, NcclVersion version) {
  AllReducePlan plan;
  plan.channels = ring_channels(cluster, &plan.notes);
  plan.ranks = cluster.ranks();
  const RingCosts costs = nccl_ring_costs(version);
  plan.overhead = costs.base;
  if (is_chain(plan)) {
    plan.algorithm = "chain";
    plan.pattern = chain_pattern(cluster, plan.channels.front());
    plan.step_latency = chain_step_latency(cluster, plan.channels.front(), costs);
  } else {
    plan.algorithm = "ring";
    plan.pattern = ring_pattern(cluster, plan.channels);
    plan.step_latency = ring_step_latency(cluster, plan.channels, costs);
  }
  return plan;
}

Collective all_reduce(const AllReducePlan& plan, Bytes size, int pattern) {
  if (is_chain(plan)) return chain_all_reduce(size, plan.ranks, pattern, plan.overhead, plan.step_latency);
  return ring_all_reduce(size, plan.ranks, static_cast<int>(plan.channels.size()), pattern, plan.overhead,
                         plan.step_latency);
}

void require_ring(const AllReducePlan& plan) {
  if (!is_chain(plan)) return;
  throw InputError(fmt::format("no ring of NVLinks passes through the {} GPUs, only a chain", plan.ranks),
                   "algorithm: auto takes the chain, and other numbers of GPUs may have rings");
}

}  // namespace trainyard
