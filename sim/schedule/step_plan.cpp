#include "schedule/step_plan.hpp"

#include "collectives/bounds.hpp"
#include "collectives/ring.hpp"
#include "strategy/buckets.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

/// A collective to launch once an op has ended.
struct Launch {
  int ready_op = -1;
  Bytes size;
  int tensors = 0;
};

std::vector<Launch> recorded_launches(const Trace& trace) {
  std::vector<Launch> launches;
  int tensors = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    tensors += static_cast<int>(op.gradients.size());
    for (const Bytes size : op.communication_bytes) {
      launches.push_back({static_cast<int>(i), size, tensors});
      tensors = 0;
    }
  }
  return launches;
}

std::vector<Launch> bucket_launches(const Trace& trace, const Stack& stack) {
  std::vector<Launch> launches;
  for (const Bucket& bucket : ddp_buckets(ready_gradients(trace), stack)) {
    launches.push_back({bucket.ready_after, bucket.bytes, static_cast<int>(bucket.gradients.size())});
  }
  return launches;
}

Algorithm chosen(Algorithm asked) { return asked == Algorithm::automatic ? Algorithm::ring : asked; }

Program step_program(const Trace& trace, const std::vector<OpTime>& times,
                     const std::vector<Launch>& launches) {
  Program program;
  std::vector<Task>& compute = program.streams[static_cast<int>(Stream::compute)];
  std::vector<Task>& communication = program.streams[static_cast<int>(Stream::communication)];
  const auto count = static_cast<int>(launches.size());
  const int all_reduced = count;
  program.events = count + 1;

  int next = 0;
  bool has_waited = count == 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.ops[i].phase == Phase::optimizer && !has_waited) {
      compute.emplace_back(Wait{all_reduced});
      has_waited = true;
    }
    compute.emplace_back(Compute{times[i].duration, static_cast<int>(i)});
    for (; next < count && launches[static_cast<std::size_t>(next)].ready_op <= static_cast<int>(i); ++next) {
      compute.emplace_back(Record{next});
    }
  }
  for (int k = 0; k < count; ++k) {
    communication.emplace_back(Wait{k});
    communication.emplace_back(Join{k});
  }
  if (count > 0) communication.emplace_back(Record{all_reduced});
  return program;
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
                   const Sync& sync) {
  StepPlan plan;
  for (const Op& op : trace.ops) {
    OpTime time = op_time(gpu, trace.precision.value_or(Precision::fp32), op);
    // A duration that the trace brings was measured with its software, or computed with it by a former run.
    if (!op.duration) time.duration += stack.op_overhead.value;
    plan.op_times.push_back(time);
  }

  const int ranks = cluster.ranks();
  std::vector<Launch> launches;
  if (ranks > 1) {
    launches = recorded_launches(trace);
    if (launches.empty()) launches = bucket_launches(trace, stack);
    plan.algorithm = config::name_of(chosen(sync.algorithm));
    plan.channels = ring_channels(cluster);
    plan.graph.patterns.push_back(ring_pattern(cluster, plan.channels));
    plan.graph.links = capacities(cluster);
  }

  plan.graph.programs = {step_program(trace, plan.op_times, launches)};
  plan.graph.program_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  const RingCosts costs = nccl_ring_costs(stack.nccl);
  const Seconds step_latency = ring_step_latency(cluster, plan.channels, costs);
  for (const Launch& launch : launches) {
    plan.graph.collectives.push_back(ring_all_reduce(
        launch.size, ranks, static_cast<int>(plan.channels.size()), 0, costs.base, step_latency));
    plan.collectives.push_back({.name = fmt::format("bucket {}", plan.collectives.size()),
                                .tensors = launch.tensors,
                                .ready_op = launch.ready_op,
                                .bound = all_reduce_bound(cluster, launch.size)});
  }
  return plan;
}

TaskGraph ideal(const StepPlan& plan) {
  TaskGraph graph = plan.graph;
  for (std::size_t i = 0; i < graph.collectives.size(); ++i) {
    graph.collectives[i].overhead = plan.collectives[i].bound;
    graph.collectives[i].rounds = 0;
  }
  return graph;
}

}  // namespace trainyard
