#include "schedule/layout_plan.hpp"

#include "experiment/op_times.hpp"
#include "limits/run_limits.hpp"
#include "schedule/collective_use.hpp"
#include "schedule/layout_collectives.hpp"
#include "schedule/layout_program.hpp"
#include "schedule/stage_collectives.hpp"
#include "schedule/undisturbed_segments.hpp"
#include "strategy/batch_norm_buffers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace trainyard {

namespace {

bool has_batch_norms(const RankClass& one) { return !batch_norm_channels(one.trace).empty(); }

LayoutOverlap overlap_of(const ResolvedExperiment& resolved) {
  const RankLayout& layout = *resolved.layout;
  const auto is_pass = [](const Op& op) {
    return op.role == OpRole::gradient_pass && op.phase == Phase::backward;
  };
  const bool has_passes = std::ranges::any_of(resolved.classes.front().trace.ops, is_pass);
  return {.gradients = resolved.stack.overlap && !has_passes,
          .parameters = false,
          .messages = traits(layout.schedule).hides_messages,
          .exchanges = layout.parallelism.expert_overlap == ExpertOverlap::micro_batches,
          .writes_ops = has_servers(resolved.settings.sync)};  // a gradient is pushed when its op ends
}

/// Adds one for each time that a program, with its segments, joins a collective.
void count_joins(const TaskGraph& graph, const Program& program, std::vector<int>& joins) {
  for (const std::vector<Task>& stream : program.streams) {
    for (const Task& task : stream) {
      if (const auto* join = std::get_if<Join>(&task)) ++joins[at(join->collective)];
      if (const auto* run = std::get_if<RunSegment>(&task))
        count_joins(graph, graph.segments[at(run->segment)].program, joins);
    }
  }
}

/// All programs that join a collective do so equally often.
void set_rounds(TaskGraph& graph) {
  for (const Program& program : graph.programs) {
    std::vector<int> joins(graph.collectives.size());
    count_joins(graph, program, joins);
    for (std::size_t i = 0; i < joins.size(); ++i)
      graph.collectives[i].rounds = std::max(graph.collectives[i].rounds, joins[i]);
  }
}

/// Sets the use of the GPUs by all collectives but messages, which occupy one or two percent of a GPU.
void set_layout_uses(const ResolvedExperiment& resolved, StepPlan& plan) {
  const std::vector<GpuUse> uses = collective_uses(plan, resolved.gpu, resolved.library);
  for_each_task<Join>(plan.graph, [&](Join& join) {
    if (plan.graph.collectives[at(join.collective)].operation != Operation::send_recv)
      join.use = uses[at(join.collective)];
  });
}

void set_times(std::span<const OpTime> times, Program& program) {
  for_each_task<Compute>(program, [&](Compute& kernel) {
    if (kernel.op < 0) return;  // next to a collective
    const OpTime& time = times[at(kernel.op)];
    kernel.duration = time.duration;
    kernel.use = time.use;
    kernel.overhead = time.overhead;
  });
}

/// A host launches the passes of all micro-batches.
void expect_launches(const ResolvedExperiment& resolved) {
  if (!resolved.lowering) return;
  double ops = 0;
  for (const RankClass& one : resolved.classes)
    ops += 1.0 * resolved.layout->micro_batches * static_cast<double>(one.trace.ops.size());
  expect_ops(ops, "a host launches every op of every micro-batch, and a smaller 'accumulation' has fewer");
}

}  // namespace

StepPlan plan_layout_step(const ResolvedExperiment& resolved) {
  const RankLayout& layout = *resolved.layout;
  StepPlan plan;
  plan.graph.links = link_capacities(*resolved.network);
  LayoutCollectives collectives(resolved, plan);
  const std::vector<StageCollectives> of_classes = stage_collectives(resolved, collectives);
  const LayoutOverlap overlap = overlap_of(resolved);
  plan.graph.program_of_rank.resize(at(resolved.cluster->ranks()));
  expect_launches(resolved);
  for (std::size_t i = 0; i < resolved.classes.size(); ++i) {
    const RankClass& one = resolved.classes[i];
    plan.op_times.push_back(op_times(one.trace, resolved.gpu, resolved.stack));
    for (const Rank rank : one.ranks)
      plan.graph.program_of_rank[at(index(rank))] = static_cast<int>(plan.graph.programs.size());
    plan.graph.programs.push_back(
        stage_program(one, layout, plan.op_times.back(), of_classes[i], overlap, plan.graph));
  }
  if (resolved.stack.broadcast_buffers && std::ranges::any_of(resolved.classes, has_batch_norms)) {
    plan.notes.emplace_back(
        "the stack's broadcast_buffers is not simulated for ranks that share a model: each keeps the "
        "statistics of its own batch norms");
  }
  set_rounds(plan.graph);
  check_segments(collectives, overlap.messages, plan.graph);
  if (resolved.stack.overlap_slows) set_layout_uses(resolved, plan);
  return plan;
}

void set_op_times(const ResolvedExperiment& resolved, StepPlan& plan) {
  if (resolved.lowering) {  // when a host launches each op depends on the times
    plan = plan_layout_step(resolved);
    return;
  }
  std::vector<bool> is_set(plan.graph.segments.size());  // each belongs to one program
  for (std::size_t i = 0; i < resolved.classes.size(); ++i) {
    plan.op_times[i] = op_times(resolved.classes[i].trace, resolved.gpu, resolved.stack);
    Program& program = plan.graph.programs[i];
    set_times(plan.op_times[i], program);
    for (const Task& task : program.of(Stream::compute)) {
      const auto* run = std::get_if<RunSegment>(&task);
      if (run == nullptr || is_set[at(run->segment)]) continue;
      is_set[at(run->segment)] = true;
      set_times(plan.op_times[i], plan.graph.segments[at(run->segment)].program);
    }
  }
}

}  // namespace trainyard
