#pragma once
// What a checkpoint of a job with faults costs: its size, and how long it holds training up.

#include "experiment/resolved_experiment.hpp"
#include "units/quantity.hpp"

namespace trainyard {

struct CheckpointCost {
  Bytes size;
  Seconds write;  ///< from its beginning until the job can continue from it
  Seconds stall;  ///< the part of it during which training waits: all of it, or the copy into host memory
  Seconds copy;   ///< of the state from the GPUs into the memory of their hosts
  /// Until the copies in memory are on the other nodes.
  Seconds transfer;
};

/// `faults.checkpoint` of the experiment, which has one. The state is divided among the ranks of a replica
/// and, if replicas shard it, among these; each node with a part writes it at once. write = max(size /
/// storage, size / (nodes with a part x node_bandwidth)). Copies into host memory use the links between GPUs
/// and host, all at once; those to other nodes the cards of the nodes with a part, next to training, which
/// they do not slow (Wang et al. 2023, GEMINI, SOSP). Throws InputError if the size or the storage is
/// unknown.
CheckpointCost checkpoint_cost(const ResolvedExperiment& resolved);

}  // namespace trainyard
