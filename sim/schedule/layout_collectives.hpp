#pragma once
// The collectives of a step whose ranks share a model: one for all groups of an axis on a stage, or for all
// pairs of neighbours between two stages.

#include "collectives/planner.hpp"
#include "experiment/resolve.hpp"
#include "schedule/step_plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace trainyard {

/// The use of a collective.
struct CollectiveUse {
  std::string name;     ///< "layer h3.attn.proj", "bucket 0"
  std::string purpose;  ///< "activations", "gradients", "parameters"
  int tensors = 0;
  int ready_op = -1;
  bool of_layers = false;  ///< as in CollectiveLabel
  int root = 0;            ///< of a broadcast or reduce: its rank's place in each group
  int blocks = 0;          ///< multiprocessors of a library of its own; 0: as the planned one has
  double share = 1;        ///< at most of the rate that the links allow a pattern; of a library of its own
};

/// The part of each group of an axis that takes part in a collective: all of it, its ranks on one node, or
/// the ranks with the same place on all its nodes.
enum class GroupScope { whole, inside_nodes, across_nodes };

class LayoutCollectives {
public:
  /// Adds patterns and collectives to the plan's graph. Keeps references to both arguments.
  LayoutCollectives(const ResolvedExperiment& resolved, StepPlan& plan);

  /// Ranks of a group of the axis on this stage.
  [[nodiscard]] int group_size(Axis axis, int stage, GroupScope scope = GroupScope::whole);

  /// Nodes on which each group of the axis on this stage has ranks, equally many on each; nothing if groups
  /// differ in that.
  [[nodiscard]] std::optional<int> nodes_of_groups(Axis axis, int stage);

  /// Adds a collective over every group of an axis on a stage; returns its index.
  int add(Operation operation, Axis axis, int stage, Bytes size, CollectiveUse use,
          GroupScope scope = GroupScope::whole);

  /// Adds messages of `size` from every rank of a stage to its neighbour in another; returns the index.
  int add_message(int from, int to, Bytes size, CollectiveUse use);

  /// Adds an all-reduce between each rank of a stage and its counterpart in a later one; returns the index.
  int add_between(int first, int last, Bytes size, CollectiveUse use);

  /// Adds an all-reduce of one fp32 value among the ranks that hold a copy of the model's state together:
  /// tensor and pipeline ranks, and `shards`, the replicas that divide the state. Returns -1 if each rank
  /// holds a whole copy. The ranks of all stages join it after their passes, when nothing else is sent: it
  /// takes the time that it takes alone, and its bytes count on no link.
  int add_norm(std::optional<GroupScope> shards);

  /// The first and the last stage whose ranks take part in a collective; -1 if those of all stages do.
  struct Ends {
    int from = 0, to = 0;
    [[nodiscard]] bool has(int stage) const { return stage == from || stage == to; }
    friend bool operator==(const Ends&, const Ends&) = default;
  };
  [[nodiscard]] CollectiveLabel& label(int collective) {
    return plan_.graph.collectives[at(collective)].label;
  }

  [[nodiscard]] Ends stages_of(int collective) const { return stages_[at(collective)]; }

private:
  /// Operation, axis, the two stages of a family of groups, their part, and the root's place.
  using Key = std::tuple<Operation, Axis, int, int, GroupScope, int>;

  const RankGroups& groups_of(Axis axis, int stage, GroupScope scope);

  Planner& planner(const Key& key, const RankGroups& groups);
  int add(const Key& key, const RankGroups& groups, Bytes size, CollectiveUse use);
  int append(const Key& key, Collective collective, const CollectivePlan& chosen, Seconds bound,
             CollectiveUse use);

  const ResolvedExperiment& resolved_;
  StepPlan& plan_;
  std::map<Key, Planner> planners_;
  std::map<Key, RankGroups> pairs_;                                 ///< of ranks of two stages
  std::map<std::tuple<Axis, int, GroupScope>, RankGroups> groups_;  ///< of one stage
  std::vector<Ends> stages_;                                        ///< by collective
};

}  // namespace trainyard
