#include "run/step.hpp"

#include "workload/shape_text.hpp"

#include <algorithm>
#include <set>
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

/// The classes whose ranks take part in each collective, in order.
std::vector<std::set<std::size_t>> classes_of_collectives(std::span<const RankClass> classes,
                                                          const TaskGraph& graph) {
  std::vector<std::set<std::size_t>> joined(graph.collectives.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::set<int> programs;
    for (const Rank rank : classes[i].ranks) programs.insert(graph.program_of_rank[at(index(rank))]);
    for (const int program : programs) {
      for (const std::vector<Task>& stream : graph.programs[at(program)].streams) {
        for (const Task& task : stream) {
          if (const auto* join = std::get_if<Join>(&task)) joined[at(join->collective)].insert(i);
        }
      }
    }
  }
  return joined;
}

std::vector<CollectiveRow> collective_rows(std::span<const RankClass> classes,
                                           const std::vector<std::set<std::size_t>>& classes_of,
                                           const StepPlan& plan, const Timeline& timeline) {
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
    if (planned.ready_op >= 0 && !classes_of[i].empty())
      row.ready_after = classes[*classes_of[i].begin()].trace.ops[at(planned.ready_op)].layer;
    row.start = span.start;
    row.end = span.end;
    row.bound = planned.bound;
    row.algbw = collective.size / taken;
    row.busbw = busbw(collective.operation, collective.group_size, collective.size, taken);
  }
  return rows;
}

/// Turns the recorded spans into named bars.
std::vector<TimelineEvent> bars_of(std::span<const RankClass> classes, const std::vector<Rank>& shown,
                                   const StepPlan& plan, const Timeline& timeline) {
  std::vector<TimelineEvent> bars;
  bars.reserve(timeline.spans.size());
  for (const TaskSpan& span : timeline.spans) {
    if (!std::ranges::binary_search(shown, span.rank)) continue;  // for the critical path
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
void date_ops(const StepPlan& plan, const std::vector<std::set<std::size_t>>& classes_of, Step& step) {
  for (const TimelineEvent& bar : step.bars) {
    ClassStep& one = step.classes[at(bar.rank_class)];
    if (bar.rank != one.first || bar.op < 0) continue;
    one.ops[at(bar.op)].start = bar.start;
    one.ops[at(bar.op)].end = bar.end;
  }
  for (std::size_t i = 0; i < step.collectives.size(); ++i) {
    const int ready_op = plan.graph.collectives[i].label.ready_op;
    if (ready_op < 0) continue;
    for (const std::size_t joined : classes_of[i]) {
      const OpRow& op = step.classes[joined].ops.at(at(ready_op));
      step.collectives[i].ready = std::max(step.collectives[i].ready, op.end);
    }
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

std::vector<Rank> shown_ranks(const ResolvedExperiment& resolved) {
  constexpr int most = 16;
  std::set<Rank> shown;
  for (int rank = 0; rank < std::min(most, resolved.cluster->ranks()); ++rank) shown.insert(Rank{rank});
  for (const RankClass& one : resolved.classes) shown.insert(one.ranks.front());
  return {shown.begin(), shown.end()};
}

void add_rows(const ResolvedExperiment& resolved, Step& step) {
  step.classes.clear();
  for (const RankClass& one : resolved.classes) {
    ClassStep& made = step.classes.emplace_back();
    made.name = one.name;
    made.first = one.ranks.front();
    made.ops = op_rows(one.trace, step.plan);
  }
  const auto classes_of = classes_of_collectives(resolved.classes, step.plan.graph);
  step.collectives = collective_rows(resolved.classes, classes_of, step.plan, step.timeline);
  step.bars = bars_of(resolved.classes, shown_ranks(resolved), step.plan, step.timeline);
  date_ops(step.plan, classes_of, step);
}

}  // namespace trainyard
