#include "run/step.hpp"

#include "workload/shape_text.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace trainyard {

namespace {

Bytes parameter_bytes(const Op& op) {
  double elements = 0;
  for (const Gradient& gradient : op.gradients) elements += gradient.elements;
  return Bytes{4 * elements};
}

std::vector<OpRow> op_rows(const Trace& trace, const StepPlan& plan) {
  std::vector<OpRow> rows;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    OpRow& row = rows.emplace_back();
    row.phase = op.phase;
    row.layer = op.layer;
    row.kind = op.kind;
    row.shape = to_string(op.shape);
    row.flops = op.flops;
    row.bytes = op.bytes;
    row.parameter_bytes = parameter_bytes(op);
    row.duration = plan.op_times[i].duration;
    row.source = plan.op_times[i].source;
  }
  return rows;
}

std::vector<CollectiveRow> collective_rows(const Trace& trace, const StepPlan& plan,
                                           const Timeline& timeline) {
  std::vector<CollectiveRow> rows;
  for (std::size_t i = 0; i < plan.graph.collectives.size(); ++i) {
    const Collective& collective = plan.graph.collectives[i];
    const CollectiveLabel& planned = collective.label;
    const CollectiveSpan& span = timeline.collectives[i];
    const Seconds taken = span.end - span.start;
    CollectiveRow& row = rows.emplace_back();
    row.name = planned.name;
    row.purpose = planned.purpose;
    row.operation = collective.operation;
    row.algorithm = std::string(config::name_of(planned.algorithm));
    row.protocol = std::string(config::name_of(planned.protocol));
    row.channels = planned.channels;
    row.size = collective.size;
    row.tensors = planned.tensors;
    if (planned.ready_op >= 0) row.ready_after = trace.ops[at(planned.ready_op)].layer;
    row.start = span.start;
    row.end = span.end;
    row.bound = planned.bound;
    row.algbw = collective.size / taken;
    row.busbw = busbw(collective.operation, collective.participants, collective.size, taken);
  }
  return rows;
}

/// Turns the recorded spans into named bars.
std::vector<TimelineEvent> bars_of(std::span<const RankClass> classes, const StepPlan& plan,
                                   const Timeline& timeline) {
  std::vector<TimelineEvent> bars;
  bars.reserve(timeline.spans.size());
  for (const TaskSpan& span : timeline.spans) {
    if (index(span.rank) >= most_recorded) continue;  // for the critical path
    const Program& program = plan.graph.programs[at(plan.graph.program_of_rank[at(index(span.rank))])];
    TimelineEvent& bar = bars.emplace_back();
    bar.rank = span.rank;
    bar.rank_class = static_cast<int>(class_index(classes, span.rank));
    bar.stream = span.stream;
    bar.start = span.start;
    bar.end = span.end;
    const std::vector<Task>& tasks = program.streams[static_cast<int>(span.stream)];
    const Task& task = tasks[at(span.task)];
    const auto* compute = std::get_if<Compute>(&task);
    if (compute != nullptr && compute->op < 0) {
      bar.collective = compute->collective;
      bar.category = side_work(plan, span.stream, tasks, span.task);
    } else if (compute != nullptr) {
      const Op& op = classes[at(bar.rank_class)].trace.ops[at(compute->op)];
      bar.op = compute->op;
      bar.category = std::string(config::name_of(op.phase));
    } else {
      bar.collective = std::get<Join>(task).collective;
      bar.category = "communication";
      bar.is_collective = true;
      bar.start = timeline.collectives[at(bar.collective)].start;
    }
  }
  return bars;
}

/// Fills in when the ops ran on the first rank of each class, and thus when the gradients of collectives were
/// ready.
void date_ops(const StepPlan& plan, Step& step) {
  for (const TimelineEvent& bar : step.bars) {
    ClassStep& one = step.classes[at(bar.rank_class)];
    if (bar.rank != one.first || bar.op < 0) continue;
    one.ops[at(bar.op)].start = bar.start;
    one.ops[at(bar.op)].end = bar.end;
  }
  for (std::size_t i = 0; i < step.collectives.size(); ++i) {
    const int ready_op = plan.graph.collectives[i].label.ready_op;
    if (ready_op < 0) continue;
    for (const ClassStep& one : step.classes)
      step.collectives[i].ready = std::max(step.collectives[i].ready, one.ops.at(at(ready_op)).end);
  }
}

}  // namespace

const std::string& side_work(const StepPlan& plan, Stream stream, const std::vector<Task>& tasks, int task) {
  const CollectiveLabel& planned =
      plan.graph.collectives[at(std::get<Compute>(tasks[at(task)]).collective)].label;
  if (stream == Stream::host) return planned.held;
  const bool is_before = at(task) + 1 < tasks.size() && std::holds_alternative<Join>(tasks[at(task) + 1]);
  return is_before ? planned.before : planned.after;
}

Seconds closed_makespan(const TaskGraph& graph) {
  return run(graph, {.fidelity = Fidelity::closed, .recorded = {}}).makespan;
}

void add_rows(const ResolvedExperiment& resolved, Step& step) {
  step.classes.clear();
  for (const RankClass& one : resolved.classes) {
    ClassStep& made = step.classes.emplace_back();
    made.first = one.ranks.front();
    made.ops = op_rows(one.trace, step.plan);
  }
  step.collectives = collective_rows(only_class(resolved).trace, step.plan, step.timeline);
  step.bars = bars_of(resolved.classes, step.plan, step.timeline);
  date_ops(step.plan, step);
}

}  // namespace trainyard
