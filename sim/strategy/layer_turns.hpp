#pragma once
// Divided layers that work on the samples of one turn after the other: the ops and exchanges of all turns.
// Source: Krizhevsky 2014, One weird trick for parallelizing convolutional neural networks, arXiv 1404.5997,
// section 4, schemes b and c.

#include "strategy/layer_division.hpp"
#include "strategy/layer_rule.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The layers that take turns: from `first` to the model's last one. Every micro-batch has as many turns as
/// there are ranks that divide them.
struct TurnSection {
  int first = 0;
  LayerTurns turns = LayerTurns::by_replica;
  DividingRanks among;
  std::string key;  ///< of the rule, for errors: "layers[1].turns"
};

/// The section of layers from divide_among_replicas(); nothing if none takes turns, or there is one rank.
std::optional<TurnSection> turn_section(const std::vector<Layer>& layers, const std::vector<LayerRule>& rules,
                                        DividingRanks among);

/// The samples of a micro-batch form equal slices if their number is a multiple of this one; 1 with
/// by_replica.
int slice_multiple(const TurnSection& section, const std::vector<Layer>& layers);

/// Throws InputError if the samples of a micro-batch do not form equal slices.
void require_slices(const TurnSection& section, const std::vector<Layer>& layers, int micro_batch);

/// The ops of a micro-batch.
struct TurnOps {
  std::vector<Op> forward, backward;
};

struct TurnSetting {
  int micro_batch = 1;  ///< samples of one replica
  Precision precision = Precision::fp32;
  bool adds_gradients = true;  ///< in an op of its own; false: matrix products add to earlier gradients
};

/// Replaces the section's ops, made from `layers` for one turn, by those of all n turns, which begin the
/// backward pass: turn k is forward and backward through the section, with ops called "LAYER #k", k from 1.
/// Casts of weights stay in the forward pass, once for all turns. During turn k the inputs and labels of turn
/// k + 1 are on their way; the first turn waits for its own. by_replica: a broadcast of the k-th replica's b
/// samples, by_slice: an all-gather of b/n samples of each. The gradients of these inputs return (a reduce to
/// that replica; a reduce-scatter) during the next turn, those of the last turn alone: backward goes on with
/// earlier layers when all have arrived. One of these exchanges is on its way at a time, in this order:
/// inputs of turn 1, inputs of turn 2, then the gradients of turn k and the inputs of turn k + 2 for each k.
/// Gradients of weights are complete after the last turn; every other turn adds to them (op
/// "gradient_accumulation #k"). All ranks wait until the gradients of every turn's inputs are back; in
/// reality the rank of turn k could go on when its own are.
TurnOps take_turns(TurnOps one, const std::vector<Layer>& layers, const TurnSection& section,
                   const TurnSetting& setting);

}  // namespace trainyard
