#pragma once
// Makes the Explanation of a steady step from its plan and its timeline.

#include "engine/engine.hpp"
#include "experiment/input_pipeline.hpp"
#include "experiment/setup.hpp"
#include "explain/explanation.hpp"
#include "platform/cluster.hpp"
#include "run/result.hpp"
#include "schedule/step_plan.hpp"

#include <optional>

namespace trainyard {

/// A step that was planned and replayed.
struct ReplayedStep {
  const Inputs& inputs;
  const Cluster& cluster;
  const StepPlan& plan;
  const Timeline& timeline;  ///< with the spans of ranks_on_paths(plan.graph)
  const std::optional<InputPipeline>& input;
};

/// Replays the step several times more, all of them without SimGrid.
Explanation explain_step(const ReplayedStep& step);

/// A result with its explanation.
struct Explained {
  Result result;
  std::optional<Explanation> explanation;  ///< of a steady step; runs of many updates have no one path
};

/// Simulates the experiment and explains its step. Throws as simulate() does.
Explained simulate_and_explain(const Inputs& inputs);

/// The critical path in segments: kernels of a phase in at most a handful of runs of layers, cut where a
/// module of the model ends. Where samples that are prefetched come later than the step could take them they
/// are all of it, and otherwise what comes first. They add up to the step time.
std::vector<PathSegment> path_segments(const ReplayedStep& step);

/// Of one collective of the plan.
CollectivePace collective_pace(const ReplayedStep& step, int collective);

}  // namespace trainyard
