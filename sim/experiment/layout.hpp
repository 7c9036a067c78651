#pragma once
// The layout of a job whose ranks share a model: its grid of ranks, its schedule, and for each stage the
// class of ranks that hold it, with the trace of one micro-batch.

#include "lowering/lowering_rules.hpp"
#include "strategy/grid.hpp"
#include "strategy/parallelism.hpp"
#include "strategy/pipeline_order.hpp"
#include "strategy/rank_class.hpp"
#include "strategy/stack.hpp"
#include "strategy/stages.hpp"
#include "workload/model.hpp"

#include <map>
#include <span>
#include <vector>

namespace trainyard {

struct RankLayout {
  Parallelism parallelism;
  Grid grid;
  PipelineSchedule schedule = usual_schedule;
  int micro_batches = 1;
  /// Replicas that divide the state of their parameters, by the axis that sums these parameters' gradients;
  /// empty: none.
  std::map<Axis, int> state_shards = {};
  /// By chunk of the model but the last: bytes that a rank sends to the next chunk per micro-batch, and back.
  std::vector<Bytes> boundaries;
};

inline ChunkPlaces chunk_places(const RankLayout& layout) {
  return {.stages = layout.grid.pipeline, .is_v = traits(layout.schedule).is_v};
}

/// A model and the setting of its training. Refers to its first three members.
struct LayoutRequest {
  const Model& model;
  const Stack& stack;
  const Lowering* lowering = nullptr;  ///< of the stack, if it has one
  double host_times = 1;               ///< factor on its host times
  Parallelism parallelism;
  int ranks = 1;
  int ranks_per_node = 1;
  Bandwidth host_rate;    ///< between a GPU and host memory, for stacks with `layer_copies`
  int micro_batch = 1;    ///< samples of a micro-batch of one replica
  int micro_batches = 1;  ///< of a step, for each replica
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::adam;
  /// Makes one class of all stages that do the same, to be judged, not simulated: its trace and its layers
  /// are those of the first.
  bool merge_stages = false;
};

struct LaidOut {
  RankLayout layout;
  /// One for each stage, or for those that do the same. Its trace has the forward passes of its chunks, their
  /// backward passes (for zb_h1 followed by those of the weights' gradients) and the end of the step.
  std::vector<RankClass> classes;
  /// By class: the update of all its parameters, of which each replica does a part if they divide the state.
  /// Empty with a lowering, whose updates are made anew.
  std::vector<Op> updates;
};

/// Throws InputError with everything that makes the layout impossible (strategy/layout_checks.hpp, shard.hpp,
/// stages.hpp).
LaidOut laid_out(const LayoutRequest& request);

/// Divides the state among the replicas as `request` says, which otherwise is the request for this layout and
/// these classes: that is much faster than laid_out() again. `updates`: as laid_out() gave them. Throws
/// InputError as that does, and then changes nothing.
void share_state(const LayoutRequest& request, std::span<const Op> updates, RankLayout& layout,
                 std::vector<RankClass>& classes);

}  // namespace trainyard
