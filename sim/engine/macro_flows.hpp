#pragma once
// Which flows stand for a collective in the macro fidelities, and over which links.

#include "engine/merge_links.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

/// Flows that carry a stage. In rounds there is one group, whose flows follow one another, latency included.
/// A pipeline has groups that pass each flow on to the next; their latencies overlap.
struct StageFlows {
  struct Group {
    int part = -1;  ///< index in MacroFlows::parts
    int route = -1;
    Seconds latency;  ///< of each flow
  };
  std::vector<Group> groups;
  int count = 0;  ///< of flows of each group
  Bytes bytes;    ///< of each edge in each flow
};

struct MacroFlows {
  /// Edges that advance together: a pattern, or a group of one.
  struct Part {
    std::vector<LinkUse> uses;
  };
  struct Route {
    int part = -1;
    std::vector<int> links;  ///< of the network
  };
  std::vector<Part> parts;
  MergedLinks network;  ///< with the private links of limits
  std::vector<Route> routes;
  std::vector<std::vector<StageFlows>> collectives;  ///< of each its stages, without those that send nothing
};

/// How finely collectives are cut into flows.
struct MacroLimits {
  /// Flows of the stages in rounds of a collective together; 0: one for each round.
  int flows = 0;
  /// Groups of a pipeline at most, and flows of each group at most.
  int groups = 1;
  int flows_of_group = 1;
};

/// A stage's limit is a link of its own, shared by all stages of that pattern and limit.
MacroFlows macro_flows(const TaskGraph& graph, const MacroLimits& limits);

/// Whether collectives of the graph may be under way at one time, or links change under them: nobody is
/// alone.
bool may_disturb(const TaskGraph& graph);

}  // namespace trainyard::engine
