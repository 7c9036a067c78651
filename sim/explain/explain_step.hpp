#pragma once
// Makes the Explanation of a steady step from its plan and its timeline.

#include "engine/engine.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/resolve.hpp"
#include "explain/critical_path.hpp"
#include "explain/explanation.hpp"
#include "platform/cluster.hpp"
#include "run/run.hpp"
#include "schedule/step_plan.hpp"

#include <map>
#include <optional>
#include <tuple>

namespace trainyard {

/// A steady step with its plan.
struct ReplayedStep {
  const ResolvedExperiment& resolved;
  const Cluster& cluster;  ///< including the nodes of neighbours
  const StepPlan& plan;
  const Timeline& timeline;          ///< with the spans of ranks_on_paths(plan.graph)
  std::optional<DataLoading> input;  ///< for runs that read real data
};

/// The steady step of a run.
ReplayedStep replayed(const Run& run);

/// Replays the step several more times, always without SimGrid.
Explanation explain_step(const ReplayedStep& step);

/// The part of a step that a task on a stream of a rank belongs to: launches are the host's, and the copies
/// and gaps around a collective, which are no op of the trace, the framework's.
PathKind kind_of(const ReplayedStep& step, const PathPiece& piece, const Compute& task);

/// The critical path in segments: the kernels of a phase form at most a handful of runs of layers, cut where
/// a module of the model ends. If prefetched samples arrive later than the step could use them, waiting for
/// them is the whole path; otherwise it comes first. Segments add up to the step time.
std::vector<PathSegment> path_segments(const ReplayedStep& step);

/// The path if the ranks share a model: one segment for the passes and kernels of a phase on a stage, for its
/// collectives of divided layers, for its messages, and for its other collectives of each operation, in the
/// order of their first tasks. They add up to the step time.
std::vector<PathSegment> layout_path(const ReplayedStep& step);

/// The speed of a phase's edges, without times.
struct PhaseEdges {
  CollectivePace pace;
  /// The part that limits one connection, also where links limit all of them more; none if only latency
  /// counts.
  std::optional<NetworkPart> of_connection;
};

/// The speeds of the collectives of a step. Most have the pattern of others, whose links are looked up once.
class CollectivePaces {
public:
  /// Keeps a reference to `step`.
  explicit CollectivePaces(const ReplayedStep& step) : step_(step) {}

  /// The pace of one collective of the plan.
  CollectivePace of(int collective);
  /// The edges of one phase.
  const PhaseEdges& edges(int collective, const CollectivePhase& phase);

private:
  /// The pace without the time before the first phase.
  CollectivePace of_phase(int collective, const CollectivePhase& phase);

  const ReplayedStep& step_;
  /// By pattern, limit of the connections, and protocol.
  std::map<std::tuple<int, Bandwidth, Protocol>, PhaseEdges> edges_;
};

/// A run with its explanation.
struct Explained {
  Run run;
  std::optional<Explanation> explanation;  ///< for a steady step; runs of many updates have no single path
};

/// Simulates the experiment and explains its step. Throws like simulate().
Explained simulate_and_explain(ResolvedExperiment resolved);

}  // namespace trainyard
