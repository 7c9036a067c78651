#include "exports/rank_step.hpp"

#include "config/diagnostic.hpp"
#include "run/layout_parts.hpp"
#include "run/timeline_tracks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <variant>

namespace trainyard {

namespace {

/// The kernels and collectives of a pass of a micro-batch: those of its segment, which all its runs repeat.
void add_pass(const Run& run, const TimelineEvent& pass, std::vector<TimelineEvent>& events) {
  const Step& step = step_of(run);
  const Segment& segment = step.plan.graph.segments.at(at(pass.segment));
  const Trace& trace = run.experiment.classes.at(at(pass.rank_class)).trace;
  for (const TaskSpan& span : step.timeline.segments.at(at(pass.segment))) {
    const std::vector<Task>& tasks = segment.program.of(span.stream);
    if (at(span.task) >= tasks.size()) continue;  // the end of the segment
    TimelineEvent event;
    event.rank = pass.rank;
    event.rank_class = pass.rank_class;
    event.stream = span.stream;
    event.start = pass.start + span.start;
    event.end = pass.start + span.end;
    if (const auto* compute = std::get_if<Compute>(&tasks[at(span.task)])) {
      event.op = compute->op;
      event.collective = compute->collective;
      event.category = compute->op >= 0 ? std::string(config::name_of(trace.ops.at(at(compute->op)).phase))
                                        : side_work(step.plan, span.stream, tasks, span.task);
    } else if (const auto* join = std::get_if<Join>(&tasks[at(span.task)])) {
      event.collective = join->collective;
      event.category = "communication";
      event.is_collective = true;
      event.start = pass.start + span.begun;
    } else {
      continue;
    }
    events.push_back(std::move(event));
  }
}

void add_bar(const TimelineEvent& bar, ExportedStep& made) {
  if (bar.stream == Stream::host)
    made.host.push_back(&bar);
  else if (bar.op >= 0)
    made.compute.push_back(&bar);
  else
    made.other_work.push_back(&bar);
}

}  // namespace

void require_steady_step(const ResolvedExperiment& resolved, const std::string& what) {
  if (is_multi_update(resolved.settings))
    throw InputError(fmt::format("{} shows one steady step, but here updates differ from each other", what),
                     "leave out parameter servers, asynchronous update rules and random times");
}

void require_data_parallel_step(const ResolvedExperiment& resolved, const std::string& what) {
  require_steady_step(resolved, what);
  if (resolved.layout)
    throw InputError(
        fmt::format("{} has one forward and one backward pass, but here ranks share a model", what),
        "leave out 'parallelism', or export hta");
  if (resolved.settings.traces)
    throw InputError(
        fmt::format("{} has one step for all ranks, but here they replay traces of their own", what),
        "name one 'trace', or export hta");
}

ExportedStep rank_step(const Run& run, Rank rank, const std::string& what) {
  require_steady_step(run.experiment, what);
  if (index(rank) >= run.ranks)
    throw InputError(fmt::format("there is no rank {}: the experiment has {}", index(rank), run.ranks));
  const Step& step = step_of(run);
  const Cluster& cluster = *run.experiment.cluster;
  ExportedStep made{.rank = rank,
                    .device = index(rank) - cluster.first_rank[at(index(cluster.node_of(rank)))],
                    .trace = &class_of(run.experiment, rank).trace};
  for (const TimelineEvent& bar : step.bars) {
    if (bar.rank == rank && bar.segment >= 0) add_pass(run, bar, made.of_passes);
  }
  for (const TimelineEvent& bar : step.bars) {
    const bool adds_input = has_no_task(bar);  // profiles show a step without its input
    if (bar.rank == rank && bar.segment < 0 && bar.stream != Stream::launch && !adds_input)
      add_bar(bar, made);
  }
  for (const TimelineEvent& event : made.of_passes) add_bar(event, made);
  if (made.compute.empty())
    throw InputError(fmt::format("rank {} is not among those that the result shows op by op", index(rank)),
                     "they are the first 16, or the first of each stage if ranks share a model");
  const auto by_start = [](const TimelineEvent* a, const TimelineEvent* b) { return a->start < b->start; };
  std::ranges::stable_sort(made.compute, by_start);
  std::ranges::stable_sort(made.other_work, by_start);
  std::ranges::stable_sort(made.host, by_start);
  if (has_bubbles(run.experiment)) return made;
  for (const TimelineEvent* bar : made.other_work)
    made.ready_op[bar->collective] = step.plan.graph.collectives[at(bar->collective)].label.ready_op;
  return made;
}

std::vector<SideKernel> side_kernels(const Run& run, Rank rank) {
  const StepPlan& plan = step_of(run).plan;
  const Program& program = plan.graph.programs.at(at(plan.graph.program_of_rank.at(at(index(rank)))));
  std::vector<SideKernel> kernels;
  for (int stream = 0; stream < program.stream_number(); ++stream) {
    if (!is_on_gpu(stream)) continue;
    const std::vector<Task>& tasks = program.of(static_cast<Stream>(stream));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto* compute = std::get_if<Compute>(&tasks[i]);
      if (compute == nullptr || compute->op >= 0 || compute->collective < 0) continue;
      const bool is_before =
          std::any_of(tasks.begin() + static_cast<std::ptrdiff_t>(i), tasks.end(), [&](const Task& task) {
            const auto* join = std::get_if<Join>(&task);
            return join != nullptr && join->collective == compute->collective;
          });
      kernels.push_back({compute->collective, is_before,
                         side_work(plan, static_cast<Stream>(stream), tasks, static_cast<int>(i)),
                         compute->duration});
    }
  }
  return kernels;
}

std::vector<std::optional<int>> ops_that_wait(const Run& run) {
  const std::vector<Collective>& collectives = step_of(run).plan.graph.collectives;
  std::vector<std::optional<int>> waiting(collectives.size());
  std::vector<std::optional<int>> named;
  const Trace& trace = only_class(run.experiment).trace;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    for (const OpCommunication& one : trace.ops[i].communications) {
      const int first = static_cast<int>(i) + (one.at == LaunchTime::end ? 1 : 0);
      named.push_back(one.waits ? std::optional(first + *one.waits) : std::nullopt);
    }
  }
  // A trace that names its collectives has them in this order; otherwise the stack makes them.
  const bool are_named = named.size() == collectives.size();
  if (are_named) waiting = std::move(named);
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const int ready_op = collectives[i].label.ready_op;
    if (waiting[i]) continue;
    if (ready_op < 0 && !are_named) waiting[i] = 0;  // parameters, before the step
    if (ready_op < 0 || trace.ops.at(at(ready_op)).phase == Phase::forward) continue;
    // the next micro-batch, whose gradients must not be added while these are sent
    for (std::size_t op = at(ready_op) + 1; op < trace.ops.size() && !waiting[i]; ++op) {
      if (trace.ops[op].phase == Phase::forward) waiting[i] = static_cast<int>(op);
    }
  }
  return waiting;
}

}  // namespace trainyard
