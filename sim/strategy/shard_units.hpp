#pragma once
// Parts of a model whose parameters replicas divide and gather together while they use them: the units of
// FSDP, the modules of ZeRO-3.

#include "strategy/rank_class.hpp"
#include "strategy/unit_rules.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace trainyard {

/// Layers that are gathered together: those of one block, or for the root all layers outside of blocks.
struct ShardUnit {
  bool is_root = false;
  bool is_kept = false;           ///< its parameters stay whole from forward to backward
  std::optional<int> block = {};  ///< of its first layer
  int first_layer = -1;           ///< of the class's layers: that of its first op in forward
  int first_forward = -1;         ///< op of the class's trace
  int last_forward = -1;          ///< its last op in forward
  int first_backward = -1;        ///< the first one of its backward ops; those that compute again count
  int last_backward = -1;
  int last_repeat = -1;                               ///< the last op that computes again
  int first_gradient = -1;                            ///< the first backward op that does not
  std::map<Axis, double> parameters = {};             ///< values, by the axis whose groups divide them
  std::map<Axis, double> whole = {};                  ///< of these, values that are not gathered unit by unit
  std::vector<std::pair<Axis, double>> tensors = {};  ///< values of each
};

/// The units of a class with one chunk, in the order in which forward first uses them: the root first, if the
/// model begins with layers outside of blocks. Units whose parameters no other ranks have are left out.
/// Source: Zhao et al. 2023, PyTorch FSDP, arXiv 2304.11277, section 3.3.
std::vector<ShardUnit> shard_units(const RankClass& one, const UnitRules& rules);

/// The parameters of a unit that are gathered, if these ranks divide them (an axis without entry: none does).
double gathered_parameters(const ShardUnit& unit, const std::map<Axis, int>& shards);

/// The most parameters that a rank holds whole at once, beyond its own parts: the root, units that stay
/// whole, the unit in use and those gathered ahead.
double live_parameters(const std::vector<ShardUnit>& units, const UnitRules& rules,
                       const std::map<Axis, int>& shards);

}  // namespace trainyard
