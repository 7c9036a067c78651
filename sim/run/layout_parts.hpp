#pragma once
// The parts of a step whose ranks share a model, along the compute stream of one rank of a stage.

#include "experiment/resolve.hpp"
#include "run/step.hpp"
#include "run/step_parts.hpp"

namespace trainyard {

/// The parts for the first rank of a class; they add up to the step time except for rounding. A moment
/// without a kernel belongs to the first of these that is under way: a collective of divided layers, a
/// message to or from another stage, a collective of the data axis or of the end of the step; otherwise to
/// the bubble. Requires that the rank was recorded.
StepParts layout_parts(const ResolvedExperiment& resolved, const Step& step, std::size_t class_number);

}  // namespace trainyard
