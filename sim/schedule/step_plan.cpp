#include "schedule/step_plan.hpp"

#include "collectives/bounds.hpp"
#include "platform/channels.hpp"
#include "schedule/communication.hpp"
#include "strategy/buckets.hpp"
#include "strategy/fusion.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace trainyard {

namespace {

Precision precision_of(const Trace& trace) { return trace.precision.value_or(Precision::fp32); }

/// A collective to launch once an op has ended.
struct Launch {
  int ready_op = -1;
  Operation operation = Operation::all_reduce;
  Bytes size;
  int tensors = 0;
  Seconds held = {};  ///< from the end of the op to the tick of the framework's cycle
  Seconds copy = {};  ///< into the fusion buffer, and out of it again
};

/// When each op ends, added up as the engine does.
std::vector<Seconds> ends_of(const std::vector<OpTime>& times) {
  std::vector<Seconds> ends;
  Seconds now;
  for (const OpTime& time : times) ends.push_back(now += time.duration);
  return ends;
}

/// Those that the trace names. A collective takes the gradients in the order they became ready, as many as
/// make up its bytes.
std::vector<Launch> recorded_launches(const Trace& trace, Bytes value) {
  const std::vector<ReadyGradient> gradients = ready_gradients(trace);
  std::vector<Launch> launches;
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    for (const Bytes size : trace.ops[i].communication_bytes) {
      Launch& launch = launches.emplace_back(Launch{.ready_op = static_cast<int>(i),
                                                    .operation = operation_of(trace.ops[i].communication),
                                                    .size = size});
      if (!reduces(launch.operation)) continue;
      Bytes taken;
      for (; next < gradients.size() && taken < size && gradients[next].op <= launch.ready_op; ++next) {
        taken += gradients[next].gradient.elements * value;
        ++launch.tensors;
      }
    }
  }
  return launches;
}

std::vector<Launch> grouped_launches(const Trace& trace, const std::vector<Seconds>& ends, const Stack& stack,
                                     Bytes value) {
  const std::vector<ReadyGradient> gradients = ready_gradients(trace);
  std::vector<Launch> launches;
  for (const Bucket& bucket :
       stack.fusion ? fused_buffers(gradients, ends, stack, value) : ddp_buckets(gradients, stack, value)) {
    launches.push_back({.ready_op = bucket.ready_after,
                        .size = bucket.bytes,
                        .tensors = static_cast<int>(bucket.gradients.size())});
  }
  return launches;
}

/// Reads and writes each value once, as one kernel over all tensors. A tensor alone is reduced where it is.
Seconds copy_time(const GpuProfile& gpu, Precision precision, const Launch& launch) {
  if (launch.tensors < 2) return Seconds();
  Op copy;
  copy.kind = OpKind::elementwise;
  copy.bytes = 2 * launch.size;
  return op_time(gpu, precision, copy).duration;
}

/// Holds every launch until the tick of Horovod's cycle and adds its copies.
void add_fusion(std::vector<Launch>& launches, const Fusion& fusion, const std::vector<Seconds>& ends,
                const GpuProfile& gpu, Precision precision) {
  Seconds last_tick;
  for (Launch& launch : launches) {
    const Seconds ready = ends[at(launch.ready_op)];
    const Seconds tick = next_tick(ready, fusion.cycle_time.value);
    launch.held = tick - std::max(ready, last_tick);
    launch.copy = copy_time(gpu, precision, launch);
    last_tick = tick;
  }
}

/// The streams of a step, with an event for each launch and one for the end of them all.
class StepProgram {
public:
  StepProgram(const Trace& trace, const std::vector<OpTime>& times, const std::vector<Launch>& launches)
      : trace_(trace), times_(times), launches_(launches), count_(static_cast<int>(launches.size())) {}

  Program write() {
    program_.events = 2 * count_ + 1;
    write_compute();
    for (int k = 0; k < count_; ++k) write_launch(k);
    if (count_ > 0) stream(Stream::communication).emplace_back(Record{all_reduced()});
    return std::move(program_);
  }

private:
  [[nodiscard]] int all_reduced() const { return 2 * count_; }
  [[nodiscard]] int released(int launch) const { return count_ + launch; }
  std::vector<Task>& stream(Stream which) { return program_.streams[static_cast<int>(which)]; }

  void write_compute() {
    std::vector<Task>& compute = stream(Stream::compute);
    int next = 0;
    bool has_waited = count_ == 0;
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
      if (trace_.ops[i].phase == Phase::optimizer && !has_waited) {
        compute.emplace_back(Wait{all_reduced()});
        has_waited = true;
      }
      compute.emplace_back(Compute{times_[i].duration, static_cast<int>(i)});
      for (; next < count_ && launches_[at(next)].ready_op <= static_cast<int>(i); ++next) {
        compute.emplace_back(Record{next});
      }
    }
  }

  void write_launch(int k) {
    const Launch& launch = launches_[at(k)];
    std::vector<Task>& communication = stream(Stream::communication);
    int start = k;
    if (launch.held > Seconds()) {
      stream(Stream::host).emplace_back(Wait{k});
      stream(Stream::host).emplace_back(Compute{.duration = launch.held, .collective = k});
      stream(Stream::host).emplace_back(Record{released(k)});
      start = released(k);
    }
    communication.emplace_back(Wait{start});
    if (launch.copy > Seconds())
      communication.emplace_back(Compute{.duration = launch.copy, .collective = k});
    communication.emplace_back(Join{k});
    if (launch.copy > Seconds())
      communication.emplace_back(Compute{.duration = launch.copy, .collective = k});
  }

  const Trace& trace_;
  const std::vector<OpTime>& times_;
  const std::vector<Launch>& launches_;
  int count_;
  Program program_;
};

/// The plan's graph with collectives that take a given time whatever else happens.
template <class DurationOf>
TaskGraph with_durations(const StepPlan& plan, DurationOf duration_of) {
  TaskGraph graph = plan.graph;
  for (std::size_t i = 0; i < graph.collectives.size(); ++i) {
    graph.collectives[i].overhead = duration_of(i);
    graph.collectives[i].stages.clear();
  }
  return graph;
}

std::vector<OpTime> op_times(const Trace& trace, const GpuProfile& gpu, const Stack& stack) {
  std::vector<OpTime> times;
  for (const Op& op : trace.ops) {
    OpTime time = op_time(gpu, precision_of(trace), op, stack.layout);
    // A duration that the trace brings was measured with its software, or computed with it by a former run.
    if (!op.duration) {
      time.duration = stack.compute_scale.value * time.duration + stack.op_overhead.value;
    }
    times.push_back(time);
  }
  return times;
}

/// What the trace has recorded, or else what the stack makes of its gradients.
std::vector<Launch> launches_of(const Trace& trace, const std::vector<Seconds>& ends, const Stack& stack,
                                const GpuProfile& gpu) {
  const Bytes value = size_of(stack.gradient_dtype, element_sizes(precision_of(trace)).gradient);
  std::vector<Launch> launches = recorded_launches(trace, value);
  if (launches.empty()) launches = grouped_launches(trace, ends, stack, value);
  if (stack.fusion) add_fusion(launches, *stack.fusion, ends, gpu, precision_of(trace));
  return launches;
}

/// Which algorithms an experiment asks for: its own for all-reduces; what else a trace launches is NCCL's to
/// carry out.
Algorithm algorithm_for(Operation operation, const Sync& sync) {
  return operation == Operation::all_reduce ? sync.algorithm : Algorithm::automatic;
}

void add_collectives(const std::vector<Launch>& launches, const Cluster& cluster, std::span<const Rank> ranks,
                     const Sync& sync, const CollectiveSoftware& software, StepPlan& plan) {
  std::map<Operation, Planner> planners;
  for (const Launch& launch : launches) {
    Planner& planner = planners
                           .try_emplace(launch.operation, cluster, software,
                                        PlannerRequest{.operation = launch.operation,
                                                       .group = {ranks.begin(), ranks.end()},
                                                       .root = ranks.front(),
                                                       .algorithm = algorithm_for(launch.operation, sync)})
                           .first->second;
    const CollectivePlan& chosen = planner.plan(launch.size, plan.graph.patterns);
    for (const std::string& note : chosen.notes) {
      if (std::ranges::find(plan.notes, note) == plan.notes.end()) plan.notes.push_back(note);
    }
    plan.channels = std::max(plan.channels, chosen.channels);
    plan.collectives.push_back({.name = fmt::format("bucket {}", plan.collectives.size()),
                                .algorithm = chosen.algorithm,
                                .protocol = chosen.protocol,
                                .channels = chosen.channels,
                                .tensors = launch.tensors,
                                .ready_op = launch.ready_op,
                                .bound = collective_bound(cluster, launch.operation, ranks, launch.size)});
    plan.graph.collectives.push_back(planner.collective(launch.size, plan.graph.patterns));
  }
}

}  // namespace

std::vector<Bandwidth> capacities(const Cluster& cluster) {
  std::vector<Bandwidth> all;
  const std::uint32_t count = link_count(cluster);
  all.reserve(count);
  for (std::uint32_t link = 0; link < count; ++link) all.push_back(capacity(cluster, LinkId{link}));
  return all;
}

StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   const Sync& sync, const Costs& costs) {
  return plan_step(trace, gpu, stack, cluster, all_ranks(cluster), sync, costs);
}

StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   std::span<const Rank> ranks, const Sync& sync, const Costs& costs) {
  StepPlan plan;
  plan.op_times = op_times(trace, gpu, stack);
  std::vector<Launch> launches;
  if (ranks.size() > 1) {
    launches = launches_of(trace, ends_of(plan.op_times), stack, gpu);
    plan.graph.links = capacities(cluster);
  }
  plan.graph.programs = {StepProgram(trace, plan.op_times, launches).write(), Program{}};
  plan.graph.program_of_rank.assign(at(cluster.ranks()), 1);
  for (const Rank rank : ranks) plan.graph.program_of_rank[at(index(rank))] = 0;
  const CollectiveSoftware software{
      .version = stack.nccl, .costs = costs, .compute_capability = compute_capability(gpu)};
  add_collectives(launches, cluster, ranks, sync, software, plan);
  return plan;
}

TaskGraph ideal(const StepPlan& plan) {
  return with_durations(plan, [&](std::size_t i) { return plan.collectives[i].bound; });
}

TaskGraph without_network(const StepPlan& plan) {
  return with_durations(plan, [](std::size_t) { return Seconds(); });
}

}  // namespace trainyard
