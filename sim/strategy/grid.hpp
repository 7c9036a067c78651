#pragma once
// The ranks of a job as a grid, one axis for each way of sharing the model: the only place that knows which
// rank has which coordinates. Collectives run over the groups of an axis.

#include "config/diagnostic.hpp"
#include "strategy/parallelism.hpp"
#include "units/ids.hpp"

#include <array>
#include <optional>
#include <vector>

namespace trainyard {

/// Two grids share the ranks. In the first the axes are tensor, context, data and pipeline. In the second the
/// context and data ranks of one tensor rank and stage, in ascending order, form groups of `expert`
/// consecutive ranks instead; those with the same place in their group are the replicas of its experts. With
/// whole experts, all ranks of a stage form such groups. `layer` consecutive replicas divide layers; those
/// with the same place in their group are the replicas of a part. Source: NVIDIA/Megatron-LM
/// megatron/core/parallel_state.py.
struct Grid {
  int tensor = 1;
  int context = 1;
  int data = 1;
  int pipeline = 1;
  int expert = 1;
  int layer = 1;
  std::vector<Axis> order = {};  ///< from the innermost axis; each of the first four once
  bool whole_experts = false;    ///< tensor ranks do not divide experts
};

struct Coordinates {
  int tensor = 0;
  int context = 0;
  int data = 0;
  int pipeline = 0;  ///< the stage
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

/// Ranks along an axis that has a key of its own, or that has the ranks that the other keys leave.
struct GridAxis {
  Axis axis;
  int Parallelism::*given;  ///< null: data
  int Grid::*ranks;
  int Coordinates::*place = nullptr;  ///< null: not of the first grid
};

/// In the order of reports.
inline constexpr std::array grid_axes{
    GridAxis{Axis::tensor, &Parallelism::tensor, &Grid::tensor, &Coordinates::tensor},
    GridAxis{Axis::context, &Parallelism::context, &Grid::context, &Coordinates::context},
    GridAxis{Axis::expert, &Parallelism::expert, &Grid::expert},
    GridAxis{Axis::data, nullptr, &Grid::data, &Coordinates::data},
    GridAxis{Axis::pipeline, &Parallelism::pipeline, &Grid::pipeline, &Coordinates::pipeline}};

/// Ranks that hold a replica of the model.
long long ranks_of_replica(const Parallelism& parallelism);

/// Why these ranks form no grid, at the key of the wrong number; empty if they do.
std::optional<Diagnostic> grid_refusal(const Parallelism& parallelism, int ranks);

/// The grid with data = ranks / (tensor context pipeline). Throws InputError if `ranks` is no multiple, if
/// `order` is no permutation of the axes, if `expert` does not divide context x data (x tensor with whole
/// experts), or `layer_group` does not divide context x data.
Grid make_grid(const Parallelism& parallelism, int ranks);

/// Ranks of the grid.
int rank_count(const Grid& grid);

Coordinates coordinates(const Grid& grid, Rank rank);
Rank rank_at(const Grid& grid, const Coordinates& coordinates);

/// The groups of an axis, by their first ranks; ranks ascending, which is also the order of their
/// coordinates. Every rank is in one group. Groups of `data` are the replicas of a parameter that is not an
/// expert's: all context and data ranks of one tensor rank and stage; those of `expert_data` the replicas of
/// an expert's parameters: context x data (x tensor) / expert ranks each. `layer` and `layer_data`: the same
/// with context x data / layer ranks. `all`: one group.
RankGroups groups(const Grid& grid, Axis axis);

/// Ranks of each group of an axis.
int group_size(const Grid& grid, Axis axis);

/// The groups whose ranks all hold this stage.
RankGroups groups_of_stage(const Grid& grid, Axis axis, int stage);

/// Ascending.
std::vector<Rank> ranks_of_stage(const Grid& grid, int stage);

/// Groups of two, {a rank of stage `from`, the rank of stage `to` with the same other coordinates}, by their
/// first ranks; none if the stages are the same. With the first and the last stage these are the two holders
/// of a tied embedding.
RankGroups stage_pairs(const Grid& grid, int from, int to);

}  // namespace trainyard
