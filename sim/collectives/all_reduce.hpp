#pragma once
// How a cluster carries out an all-reduce: the one place that turns its channels into a pattern and rounds,
// by ring or, where no ring fits, by chain.

#include "collectives/collective.hpp"
#include "collectives/nccl.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// What all all-reduces over all ranks of a cluster have in common.
struct AllReducePlan {
  std::string algorithm;  ///< "ring" or "chain"
  std::vector<Channel> channels;
  Pattern pattern;
  int ranks = 0;
  Seconds overhead;                ///< once per collective
  Seconds step_latency;            ///< of each round
  std::vector<std::string> notes;  ///< what a reader of the result should know
};

/// The plan for two ranks or more. Throws Unreachable if some ranks cannot reach each other.
AllReducePlan plan_all_reduce(const Cluster& cluster, NcclVersion version);

/// An all-reduce of `size` bytes per rank; `pattern` is the index that the plan's pattern has in the task
/// graph.
Collective all_reduce(const AllReducePlan& plan, Bytes size, int pattern);

/// Throws InputError if the plan is none of rings, for users who ask for a ring and nothing else.
void require_ring(const AllReducePlan& plan);

}  // namespace trainyard
