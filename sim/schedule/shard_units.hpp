#pragma once
// Parts of a model whose parameters replicas divide and gather together while they use them: the units of
// FSDP, the modules of ZeRO-3.

#include "strategy/rank_class.hpp"

#include <map>
#include <vector>

namespace trainyard {

/// Layers that are gathered together: those of one block, or for the root all layers outside of blocks.
struct ShardUnit {
  bool is_root = false;
  int first_forward = -1;   ///< op of the class's trace
  int first_backward = -1;  ///< the first one of its backward ops; those that compute again count
  int last_backward = -1;
  std::map<Axis, double> parameters = {};  ///< values, by the axis whose groups divide them
};

/// The units of a class with one chunk, in the order in which forward first uses them: the root first, if the
/// model begins with layers outside of blocks. Units whose parameters no other ranks have are left out.
/// Source: Zhao et al. 2023, PyTorch FSDP, arXiv 2304.11277, section 3.3.
std::vector<ShardUnit> shard_units(const RankClass& one);

}  // namespace trainyard
