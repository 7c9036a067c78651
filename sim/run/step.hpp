#pragma once
// One steady step, in which every rank waits for all others: its plan, its timeline, and figures derived from
// them.

#include "engine/engine.hpp"
#include "experiment/resolve.hpp"
#include "schedule/step_plan.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// One op of the trace with its duration; a row of ops.csv.
struct OpRow {
  Phase phase{};
  std::string layer;
  OpKind kind{};
  std::string shape;  ///< as in a trace
  Flops flops;
  Bytes bytes;
  Bytes parameter_bytes;
  Seconds duration;  ///< alone; concurrent communication may make the interval from start to end longer
  ComputeSource source{};
  int runs = 1;   ///< times that a step runs it
  Seconds start;  ///< of its first run on the first rank of its class; 0 without a timeline
  Seconds end;
};

/// One collective; a row of collectives.csv. It lasts from the arrival of its first rank to the departure of
/// its last.
struct CollectiveRow {
  std::string name;     ///< "bucket 0", "parameters 0"
  std::string purpose;  ///< the data sent: "gradients", "parameters", "buffers", "buckets" of a trace
  Operation operation{};
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  Bytes size;
  int tensors = 0;
  std::string ready_after;  ///< layer whose gradient completed the bucket; empty: the beginning of the step
  Seconds ready;            ///< when the last rank's gradients were ready
  Seconds start;            ///< when the stream was free and it began
  Seconds end;
  Seconds bound;    ///< no algorithm on this network is faster
  Bandwidth algbw;  ///< size / duration
  Bandwidth busbw;
  Axis axis = Axis::all;  ///< whose groups take part
  int rounds = 1;         ///< times that a step runs it; the dates are those of the first
};

/// One bar of the timeline in trace.json.
struct TimelineEvent {
  Rank rank{};
  Stream stream{};
  bool is_collective = false;  ///< the collective itself, not work that prepares it
  /// forward, backward, optimizer; decoding (no op's); communication; cycle, negotiation for the host; the
  /// purpose, for kernels next to a collective; the rank's activity, for runs of many updates
  std::string category;
  Seconds start;
  Seconds end;
  int rank_class = 0;  ///< index of the rank's class in the step's classes
  int op = -1;         ///< index in the ops of that class, for compute
  int ops = 1;       ///< number of ops, from that one on, that the bar stands for: the pass of a micro-batch
  int segment = -1;  ///< of the task graph, for a pass
  int micro_batch = -1;  ///< of a pass: how many times its segment ran before
  int collective = -1;   ///< index in its collectives, for a collective or work that prepares one
};

/// One class of ranks (strategy/rank_class.hpp) in the step, as its first rank saw it.
struct ClassStep {
  std::string name;  ///< of the class
  Rank first{};
  std::vector<OpRow> ops;
  Seconds compute;  ///< time for which the compute stream runs kernels
  Seconds slowed;   ///< part of `compute`: delay of kernels by concurrent communication
  Seconds communication;
  Seconds exposed;            ///< exposed time of communication and of the framework's work around it
  Seconds launch_waits = {};  ///< the GPU waits for the host that launches its kernels
  Seconds end;
};

/// Without a timeline (SimulateOptions) `bars` is empty and the dates of ops are not used.
struct Step {
  StepPlan plan;
  Timeline timeline;
  Seconds time;          ///< including the wait for samples
  Seconds lower_bound;   ///< with all collectives at their bound
  Seconds network_gain;  ///< how much shorter the step would be if collectives took no time
  std::vector<ClassStep> classes = std::vector<ClassStep>(1);  ///< in the order of the experiment's
  std::vector<CollectiveRow> collectives;
  std::vector<TimelineEvent> bars;  ///< of the recorded ranks
};

/// The class that ends last: it stands for the step wherever one figure describes all ranks.
inline const ClassStep& slowest_class(const Step& step) {
  return *std::ranges::max_element(step.classes, {}, &ClassStep::end);
}

/// The op of a bar of the timeline.
inline const OpRow& op_of(const Step& step, const TimelineEvent& bar) {
  return step.classes.at(at(bar.rank_class)).ops.at(at(bar.op));
}

/// The ranks for which every op goes into the timeline, ascending: the first ones, few enough to look at, and
/// the first of each class.
std::vector<Rank> shown_ranks(const ResolvedExperiment& resolved);

/// The use of a step's rows: sums, so that ops need no names and shapes; tables; or also a timeline, for
/// which ops have dates and the step has `bars`.
enum class RowUse { sums, tables, timeline };

/// Fills in the ops of `classes` and `collectives` of a step from its plan and timeline.
void add_rows(const ResolvedExperiment& resolved, RowUse use, Step& step);

/// Appends to the bars of every shown rank the kernels that decode samples for the next step: after the
/// step's own, which they delay by `time` wherever they run in truth.
void add_decoding(const ResolvedExperiment& resolved, Seconds time, Step& step);

/// The purpose of a task of the communication or host stream that belongs to a collective: work before or
/// after it, or the time for which the host is held.
const std::string& side_work(const StepPlan& plan, Stream stream, const std::vector<Task>& tasks, int task);

}  // namespace trainyard
