#pragma once
// The collectives by which replicas exchange gradients and, if they share state, parameters.

#include "experiment/resolved_experiment.hpp"
#include "schedule/layout_collectives.hpp"

#include <utility>

namespace trainyard {

class ReplicaCollectives {
public:
  Bytes gradient;     ///< per value, as reduced
  Bytes weight;       ///< per value, as gathered
  GroupScope shards;  ///< the ranks that divide state

  /// Both must outlive it.
  ReplicaCollectives(const ResolvedExperiment& resolved, LayoutCollectives& collectives);

  /// Whether the replicas along an axis divide the state of their parameters.
  [[nodiscard]] bool is_divided(Axis axis, int stage) const;

  /// Adds a reduction of gradients to the whole sum, or to a shard of it, which nodes with copies add up: its
  /// number and that of their sum, -1 if there is none.
  std::pair<int, int> add_reduction(Axis axis, int stage, Bytes size, const CollectiveUse& use);

  int add_gather(Axis axis, int stage, Bytes size, const CollectiveUse& use);

private:
  const ResolvedExperiment& resolved_;
  LayoutCollectives& collectives_;
};

}  // namespace trainyard
