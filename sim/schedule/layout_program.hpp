#pragma once
// The program of one stage of a pipeline, pass by pass.

#include "experiment/layout.hpp"
#include "schedule/layout_collectives.hpp"
#include "schedule/task_graph.hpp"
#include "schedule/unit_program.hpp"
#include "strategy/pipeline_order.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// A collective that an op of the trace launches.
struct OpLaunch {
  int op = -1;
  LaunchTime at = LaunchTime::end;
  int needed_by = -1;  ///< the op that waits for it
  int collective = -1;
  Stream stream = Stream::layers;  ///< if it overlaps with ops; otherwise it holds up the compute stream
  bool in_order = false;           ///< runs on `stream` in any case
  bool is_exchange = false;        ///< of tokens, during which ops of another micro-batch may run
};

/// Gradients of a chunk that are reduced together in a step's last backward pass, or in each.
struct GradientLaunch {
  int chunk = 0;
  int ready_op = -1;
  int collective = -1;
  int across = -1;  ///< then, between nodes that hold copies of the collective's result on each rank
};

/// Parameters that are gathered at the beginning of a step.
struct ParameterLaunch {
  int needed_by = -1;  ///< the first op that reads them
  int collective = -1;
};

/// The collectives of one stage.
struct StageCollectives {
  std::vector<OpLaunch> of_ops;           ///< in the order of the ops; of one op, by LaunchTime
  std::vector<GradientLaunch> gradients;  ///< in the order in which they become ready
  bool reduces_each_micro_batch = false;
  std::vector<UnitLaunch> units;            ///< instead, if parameters are sharded
  UnitRules unit_rules;                     ///< of these
  std::vector<ParameterLaunch> parameters;  ///< in the order of their use
  std::vector<int> before_update;           ///< one after the other, once all gradients are reduced
  std::vector<int> after_update;            ///< at the end of the step
  /// By chunk: messages to and from the neighbours, and collectives by which a tensor group gathers what its
  /// ranks received; -1: none.
  struct Messages {
    int receive_forward = -1, send_forward = -1, receive_backward = -1, send_backward = -1;
    int gather_forward = -1, gather_backward = -1;
  };
  std::vector<Messages> messages;
};

/// Which collectives overlap with kernels, and how passes are written.
struct LayoutOverlap {
  bool gradients = true;
  bool parameters = false;
  bool messages = false;   ///< always true for the interleaved schedule
  bool exchanges = false;  ///< of tokens, with the ops of another micro-batch
  /// Passes are written op by op, none is a segment: every op of a recorded rank then has dates.
  bool writes_ops = false;
};

/// Writes the program; its passes become segments, which are added to the graph, unless collectives of the
/// data axis overlap with them or a host that is late launches their ops. A segment is undisturbed as far as
/// this program knows.
Program stage_program(const RankClass& one, const RankLayout& layout, std::span<const OpTime> times,
                      const StageCollectives& collectives, const LayoutOverlap& overlap, TaskGraph& graph);

}  // namespace trainyard
