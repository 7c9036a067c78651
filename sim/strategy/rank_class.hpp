#pragma once
// Which ranks are alike: a plan, a memory report or a page describes one rank of each class for all of it.

#include "strategy/pipeline_order.hpp"
#include "units/ids.hpp"
#include "workload/accumulate.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainyard {

/// The ops of a pass of one micro-batch through a chunk: `first` to `end` - 1 of the trace.
struct PassOps {
  PassKind kind{};
  int chunk = 0;
  int first = 0;
  int end = 0;
};

/// Ranks that run the same ops on data of the same shape. Data parallelism has one class; a model that is
/// split over ranks has one for each part.
struct RankClass {
  std::string name;         ///< for people: "all ranks"
  std::vector<Rank> ranks;  ///< ascending
  Trace trace;              ///< of each rank; without durations unless the user's trace has them
  int stage = 0;            ///< of a pipeline
  /// Later stages whose ranks do the same, if one class stands for all of them (LayoutRequest::merge_stages).
  /// `ranks` are those of `stage` alone.
  std::vector<int> further_stages = {};
  /// If the ranks share a model: the ranges of the trace that the rank runs for each micro-batch, in the
  /// order of pass_order(). The ops after them end the step. Empty: the trace is the whole step, op by op.
  std::vector<PassOps> passes = {};
  std::vector<Layer> layers = {};  ///< with `passes`: the rank's share of the model
  std::string file = {};           ///< of a trace that a user wrote, for diagnostics
};

/// The stages that a class stands for, ascending.
inline std::vector<int> stages_of(const RankClass& one) {
  std::vector<int> stages{one.stage};
  stages.insert(stages.end(), one.further_stages.begin(), one.further_stages.end());
  return stages;
}

/// Whether the first micro-batch lacks the op: an addition of gradients that a host launches. Without a host
/// all have it, since their passes are one segment.
inline bool is_of_later_micro_batches(const Op& op) {
  return op.host > Seconds() && is_gradient_addition(op);
}

/// How often a step runs an op of the class's trace.
inline int runs_of(const RankClass& one, int op, int micro_batches) {
  if (one.passes.empty() || op >= one.passes.back().end) return 1;
  return is_of_later_micro_batches(one.trace.ops[at(op)]) ? micro_batches - 1 : micro_batches;
}

/// The index of the class that a rank belongs to. Throws std::logic_error if it has none.
inline std::size_t class_index(std::span<const RankClass> classes, Rank rank) {
  const auto found = std::ranges::find_if(
      classes, [&](const RankClass& one) { return std::ranges::binary_search(one.ranks, rank); });
  if (found == classes.end()) throw std::logic_error("a rank without a class");
  return static_cast<std::size_t>(found - classes.begin());
}

}  // namespace trainyard
