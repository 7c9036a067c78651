#pragma once
// Makes the Explanation of a steady step from its plan and its timeline.

#include "engine/engine.hpp"
#include "experiment/input_pipeline.hpp"
#include "experiment/resolve.hpp"
#include "explain/explanation.hpp"
#include "platform/cluster.hpp"
#include "run/run.hpp"
#include "schedule/step_plan.hpp"

#include <optional>

namespace trainyard {

/// A steady step with what was planned for it.
struct ReplayedStep {
  const ResolvedExperiment& resolved;
  const Cluster& cluster;  ///< with the nodes of neighbours
  const StepPlan& plan;
  const Timeline& timeline;            ///< with the spans of ranks_on_paths(plan.graph)
  std::optional<InputPipeline> input;  ///< of runs that read real data
};

/// Replays the step several times more, all of them without SimGrid.
Explanation explain_step(const ReplayedStep& step);

/// The critical path in segments: kernels of a phase in at most a handful of runs of layers, cut where a
/// module of the model ends. Where samples that are prefetched come later than the step could take them they
/// are all of it, and otherwise what comes first. They add up to the step time.
std::vector<PathSegment> path_segments(const ReplayedStep& step);

/// The pace of one collective of the plan.
CollectivePace collective_pace(const ReplayedStep& step, int collective);

/// A run with its explanation.
struct Explained {
  Run run;
  std::optional<Explanation> explanation;  ///< of a steady step; runs of many updates have no one path
};

/// Simulates the experiment and explains its step. Throws as simulate() does.
Explained simulate_and_explain(ResolvedExperiment resolved);

}  // namespace trainyard
