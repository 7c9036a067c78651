#pragma once
// The flows that stand for a collective in fidelities `flow` and `rounds`, and their links.

#include "engine/links_as_one.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

/// Flows that carry a phase. In rounds there is one group, whose flows follow one another, latency included.
/// A chunked phase has groups that pass each flow on to the next group; their latencies overlap.
struct PhaseFlows {
  struct Group {
    int part = -1;  ///< index in MacroFlows::parts
    int route = -1;
    Seconds latency;  ///< per flow
  };
  std::vector<Group> groups;
  int count = 0;  ///< flows per group
  Bytes bytes;    ///< per edge and flow
};

struct MacroFlows {
  /// Edges that advance together: a whole pattern, or a group of its edges.
  struct Part {
    std::vector<LinkUse> uses;
  };
  struct Route {
    int part = -1;
    std::vector<int> links;  ///< indices in network.links
  };
  std::vector<Part> parts;
  LinksAsOne network;  ///< with the private links that enforce phases' limits
  std::vector<Route> routes;
  std::vector<std::vector<PhaseFlows>> collectives;  ///< by collective: its phases that send something
};

/// How finely collectives are cut into flows.
struct MacroLimits {
  /// Flows for all phases in rounds of one collective; 0: one per round.
  int flows = 0;
  /// Limits: groups of a chunked phase, and flows of each group.
  int groups = 1;
  int flows_of_group = 1;
};

/// A phase's limit becomes a private link, shared by all phases with the same pattern and limit.
MacroFlows macro_flows(const TaskGraph& graph, const MacroLimits& limits);

/// Whether several collectives may run at the same time, or links may change during one.
bool may_disturb(const TaskGraph& graph);

}  // namespace trainyard::engine
