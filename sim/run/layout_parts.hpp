#pragma once
// The parts of a step in which ranks wait for each other, along the compute stream of one rank of a stage.

#include "experiment/resolve.hpp"
#include "run/step.hpp"
#include "run/step_parts.hpp"

namespace trainyard {

/// Whether a step is split in this way: ranks share a model, or replay traces of their own.
inline bool has_bubbles(const ResolvedExperiment& resolved) {
  return resolved.layout.has_value() || resolved.settings.traces.has_value();
}

/// The stages that wait for each other; 1 without a pipeline.
inline int pipeline_stages(const ResolvedExperiment& resolved) {
  if (resolved.layout) return resolved.layout->grid.pipeline;
  return resolved.grid ? resolved.grid->pipeline : 1;
}

/// The parts for the first rank of a class; they add up to the step time except for rounding. A moment
/// without a kernel belongs to the first of these that is under way: a collective of divided layers, a
/// message to or from another stage, a collective of the data axis or of the end of the step; otherwise to
/// the bubble. Requires that the rank was recorded.
StepParts layout_parts(const ResolvedExperiment& resolved, const Step& step, std::size_t class_number);

}  // namespace trainyard
