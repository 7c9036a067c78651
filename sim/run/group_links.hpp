#pragma once
// Which ranks form the groups of a layout, on which nodes they are, and over which links their collectives
// run: for `trainyard topology --groups` and the picture in report.html. Read from the planned collectives,
// so that it shows the channels that a step uses.

#include "collectives/axis.hpp"
#include "experiment/resolve.hpp"
#include "schedule/task_graph.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace trainyard {

/// The links of one class that the groups of a kind use.
struct GroupLinks {
  std::string name;                        ///< "gpu - nvswitch", "nic - fabric", "leaf - core"
  std::string medium;                      ///< "nvlink3", "pcie4"; of the fabric "network"
  std::int64_t links = 0;                  ///< directed
  int groups = 0;                          ///< most groups that share one link; 0: unknown
  Bandwidth capacity;                      ///< of the slowest of them
  std::set<std::string> shared_with = {};  ///< other kinds of groups that use one of these links
};

/// Groups that exchange data in the same way.
struct GroupsOfKind {
  std::string name = {};  ///< "tensor", "data", "pipeline", "data in nodes"
  Axis axis{};
  std::set<std::string> operations = {};  ///< "all_reduce"
  std::int64_t groups = 0;
  int size = 0;             ///< ranks of one group
  RankGroups members = {};  ///< all groups, ascending; those of stages that only meet in the plan are joined
  int nodes = 1;            ///< of the first group
  int sockets = 0;          ///< of the first group on its first node; 0: unknown
  /// Rate at which a rank sends while all groups of the kind on its stage send and nothing else uses the
  /// network; of the rank that sends most.
  Bandwidth rate = {};
  Bytes bytes = {};  ///< that a rank sends in a step; the mean over the ranks of these groups
  std::vector<GroupLinks> links = {};
};

/// Kinds of groups with at least two ranks that exchange data in the step, in the order of the axes. Empty
/// without a layout. `graph`: of the experiment's step.
std::vector<GroupsOfKind> group_links(const ResolvedExperiment& resolved, const TaskGraph& graph);

/// Nodes on which the groups of every kind lie alike.
struct NodeKind {
  int node = 0;   ///< the first
  int nodes = 0;  ///< their number
  /// By kind of group, then by rank of the node: the number of the rank's group among those of the node, or
  /// -1 if the rank is in none.
  std::vector<std::vector<int>> group_of = {};
  /// By kind of group: whether groups of this node have ranks on other nodes.
  std::vector<bool> leaves = {};
};

std::vector<NodeKind> node_kinds(const Cluster& cluster, const std::vector<GroupsOfKind>& kinds);

}  // namespace trainyard
