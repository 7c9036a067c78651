#include "schedule/replica_collectives.hpp"

namespace trainyard {

ReplicaCollectives::ReplicaCollectives(const ResolvedExperiment& resolved, LayoutCollectives& collectives)
    : gradient(size_of(resolved.stack.gradient_dtype, resolved.settings.precision)),
      weight(element_sizes(resolved.settings.precision).compute_weight),
      shards(resolved.layout->parallelism.shard_over == ShardOver::node ? GroupScope::inside_nodes
                                                                        : GroupScope::whole),
      resolved_(resolved),
      collectives_(collectives) {}

bool ReplicaCollectives::is_divided(Axis axis, int stage) const {
  return resolved_.layout->parallelism.shard != Sharded::none &&
         collectives_.group_size(axis, stage, shards) > 1;
}

std::pair<int, int> ReplicaCollectives::add_reduction(Axis axis, int stage, Bytes size,
                                                      const CollectiveUse& use) {
  const bool is_whole = sums_all_gradients(resolved_.stack, resolved_.layout->parallelism.shard);
  if (is_whole || !is_divided(axis, stage))
    return {collectives_.add(Operation::all_reduce, axis, stage, size, use), -1};
  const int reduce = collectives_.add(Operation::reduce_scatter, axis, stage, size, use, shards);
  if (shards == GroupScope::whole || collectives_.group_size(axis, stage, GroupScope::across_nodes) == 1)
    return {reduce, -1};
  const int parts = collectives_.group_size(axis, stage, shards);
  return {reduce,
          collectives_.add(Operation::all_reduce, axis, stage, size / parts, use, GroupScope::across_nodes)};
}

int ReplicaCollectives::add_gather(Axis axis, int stage, Bytes size, const CollectiveUse& use) {
  return collectives_.add(Operation::all_gather, axis, stage, size, use, shards);
}

}  // namespace trainyard
