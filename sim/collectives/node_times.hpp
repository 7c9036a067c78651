#pragma once
// How long collectives inside a node take when nothing else is sent: closer to a simulation than
// collective_bound(), which knows neither algorithms nor protocols. For searches, which ask for thousands.

#include "collectives/library.hpp"
#include "collectives/operation.hpp"
#include "collectives/planner.hpp"
#include "platform/cluster.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace trainyard {

/// The collectives of a job inside the nodes of a cluster.
class NodeTimes {
public:
  NodeTimes(std::shared_ptr<const Cluster> cluster, CollectiveSoftware software);

  /// The time of an operation without a root over a group (ascending) by the library's own choice, alone on
  /// the network: no simulation of it, with or without other groups, is shorter. Zero for a group of one rank
  /// and for a group on several nodes. Each time is computed once for groups on the same GPUs of any node.
  /// Throws as Planner::collective().
  Seconds of(Operation operation, const std::vector<Rank>& group, Bytes size);

private:
  /// The groups on the same GPUs of any node.
  struct Alike {
    Planner planner;
    std::vector<Pattern> patterns = {};
    std::vector<Bandwidth> rates = {};  ///< by pattern
    std::map<Bytes, Seconds> times = {};
  };

  [[nodiscard]] Seconds time_of(Alike& alike, Bytes size) const;

  std::shared_ptr<const Cluster> cluster_;
  CollectiveSoftware software_;
  std::map<std::pair<Operation, std::vector<int>>, Alike> known_;  ///< by the GPUs of a node
};

}  // namespace trainyard
