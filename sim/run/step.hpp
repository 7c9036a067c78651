#pragma once
// One steady step, in which all ranks wait for all: its plan, its timeline, and what they say.

#include "engine/engine.hpp"
#include "schedule/step_plan.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// One op of the trace with its duration; a row of layers.csv.
struct OpRow {
  Phase phase{};
  std::string layer;
  OpKind kind{};
  std::string shape;  ///< as in a trace
  Flops flops;
  Bytes bytes;
  Bytes parameter_bytes;
  Seconds duration;  ///< alone; concurrent communication may make start to end longer
  ComputeSource source{};
  Seconds start;  ///< on the first rank of its class; 0 where no timeline was asked for
  Seconds end;
};

/// One collective; a row of collectives.csv. Times are those of its first arriving and last leaving rank.
struct CollectiveRow {
  std::string name;     ///< "bucket 0", "parameters 0"
  std::string purpose;  ///< what is sent: "gradients", "parameters", "buckets" of a trace
  Operation operation{};
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  Bytes size;
  int tensors = 0;
  std::string ready_after;  ///< layer whose gradient completed the bucket; empty: the step's beginning
  Seconds ready;            ///< when the last rank's gradients were ready
  Seconds start;            ///< when the stream was free and it began
  Seconds end;
  Seconds bound;    ///< no algorithm on this network is faster
  Bandwidth algbw;  ///< size / duration
  Bandwidth busbw;
};

/// One bar of the timeline in trace.json.
struct TimelineEvent {
  Rank rank{};
  Stream stream{};
  /// forward, backward, optimizer; communication; cycle, negotiation of the host; of kernels beside a
  /// collective what they are for; of runs of many updates what a rank does
  std::string category;
  Seconds start;
  Seconds end;
  int op = -1;          ///< index in the step's ops, for compute
  int collective = -1;  ///< index in its collectives, for what is or prepares one
};

/// Without a timeline (SimulateOptions) `bars` is empty and nobody asks when ops ran.
struct Step {
  StepPlan plan;
  Timeline timeline;
  Seconds time;         ///< with the wait for samples
  Seconds lower_bound;  ///< all collectives at their bound
  Seconds compute;      ///< busy time of a rank's compute stream with kernels
  Seconds slowed;       ///< of that: what kernels took longer beside communication
  Seconds communication;
  Seconds exposed;       ///< of the communication, and of what the framework does around it
  Seconds network_gain;  ///< what the step would lose if collectives took no time
  std::vector<OpRow> ops;
  std::vector<CollectiveRow> collectives;
  std::vector<TimelineEvent> bars;  ///< of the ranks recorded
};

}  // namespace trainyard
