#pragma once
// The groups of ranks of a profile as the axes of a layout, which a run needs to know which ranks take part
// in a collective. A profile has the groups of its own rank only: those of the others follow from the layout.

#include "collectives/axis.hpp"
#include "strategy/parallelism.hpp"
#include "units/known.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// A group of some of the ranks, and the uses that the collectives of a step make of it.
struct UsedGroup {
  std::string name = {};             ///< as the profile says it
  std::string description = {};      ///< "DATA_PARALLEL_GROUP", "mesh_tp"; a better sign of the axis than
                                     ///< sign of its axis than its collectives
  std::vector<int> ranks = {};       ///< ascending; empty if unknown
  bool exchanges = false;            ///< all-to-all
  bool sums_in_forward = false;      ///< all-reduce or reduce-scatter
  bool gathers_in_forward = false;   ///< all-gather
  bool sums_behind_forward = false;  ///< all-reduce or reduce-scatter
};

struct GroupLayout {
  Parallelism parallelism;
  std::vector<Axis> axes;  ///< of each group
};

/// The layout of `ranks` ranks whose groups include these. Among several, the one whose axes are most usual
/// for what the groups do: sums in forward are of tensor parallelism, all-gathers in forward of replicas that
/// divide parameters, sums in backward alone of replicas. Tensor groups of consecutive ranks come before
/// other orders of axes, which need a tensor group and one of replicas to be recognised.
/// Or why there is none: ranks that are unknown, stages of a pipeline (which need a trace each), groups that
/// no layout has.
/// `others`: the groups of other ranks' profiles, which have to be those of the same axes.
Known<GroupLayout> layout_of_groups(std::span<const UsedGroup> groups, int ranks,
                                    std::span<const std::vector<int>> other_groups = {});

/// The keys of an experiment with this layout, and their values.
std::vector<std::pair<std::string, std::string>> layout_settings(const Parallelism& layout);

/// The ranks in a list, "[0, 1, 6]", ascending; nothing if it is no such list, as one that is shortened.
std::optional<std::vector<int>> listed_ranks(std::string_view text);

}  // namespace trainyard
