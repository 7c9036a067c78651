#include "run/step.hpp"

#include "workload/shape_text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

Bytes parameter_bytes(const Op& op) {
  double elements = 0;
  for (const Gradient& gradient : op.gradients) elements += gradient.elements;
  return Bytes{4 * elements};
}

std::vector<OpRow> op_rows(const Trace& trace, std::span<const OpTime> times, RowUse use) {
  std::vector<OpRow> rows;
  rows.reserve(trace.ops.size());
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    OpRow& row = rows.emplace_back();
    row.phase = op.phase;
    row.kind = op.kind;
    row.flops = op.flops;
    row.bytes = op.bytes;
    row.parameter_bytes = parameter_bytes(op);
    row.duration = times[i].duration;
    row.source = times[i].source;
    if (use == RowUse::sums) continue;
    row.layer = op.layer;
    row.shape = to_string(op.shape);
  }
  return rows;
}

/// The classes whose ranks take part in each collective, in order.
std::vector<std::set<std::size_t>> classes_of_collectives(std::span<const RankClass> classes,
                                                          const TaskGraph& graph) {
  std::vector<std::set<std::size_t>> joined(graph.collectives.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::set<int> programs;
    int last = -1;
    for (const Rank rank : classes[i].ranks) {
      const int program = graph.program_of_rank[at(index(rank))];
      if (program != last) programs.insert(program);
      last = program;
    }
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
                                           const StepPlan& plan, const Timeline& timeline,
                                           CommunicationLibrary library) {
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
    row.protocol = std::string(protocol_name(library, planned.protocol));
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
    row.axis = planned.axis;
    row.rounds = collective.rounds;
  }
  return rows;
}

/// The first op of a segment and the number of those that follow it in the trace: of two passes that take
/// turns, those of the backward pass.
std::pair<int, int> ops_of(const Program& segment) {
  int first = -1;
  int count = 0;
  for (const Task& task : segment.of(Stream::compute)) {
    const auto* compute = std::get_if<Compute>(&task);
    if (compute == nullptr) continue;
    if (count == 0) first = compute->op;
    if (compute->op == first + count) ++count;
  }
  return {first, count};
}

/// Turns the recorded spans into named bars.
std::vector<TimelineEvent> bars_of(std::span<const RankClass> classes, const std::vector<Rank>& shown,
                                   const StepPlan& plan, const Timeline& timeline) {
  std::vector<TimelineEvent> bars;
  std::map<std::pair<Rank, int>, int> runs;  // by rank and segment
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
    const std::vector<Task>& tasks = program.of(span.stream);
    const Task& task = tasks[at(span.task)];
    const auto* compute = std::get_if<Compute>(&task);
    if (const auto* run = std::get_if<RunSegment>(&task)) {
      const Segment& segment = plan.graph.segments[at(run->segment)];
      std::tie(bar.op, bar.ops) = ops_of(segment.program);
      bar.segment = run->segment;
      bar.micro_batch = runs[{bar.rank, run->segment}]++;
      bar.category = std::string(config::name_of(segment.phase));
    } else if (compute != nullptr && compute->op < 0) {
      bar.collective = compute->collective;
      bar.category = span.stream == Stream::launch ? std::string(config::name_of(span.stream))
                                                   : side_work(plan, span.stream, tasks, span.task);
    } else if (compute != nullptr) {
      const Op& op = classes[at(bar.rank_class)].trace.ops[at(compute->op)];
      bar.op = compute->op;
      bar.category = std::string(span.stream == Stream::launch ? config::name_of(span.stream)
                                                               : config::name_of(op.phase));
    } else {
      bar.collective = std::get<Join>(task).collective;
      bar.category = "communication";
      bar.is_collective = true;
      bar.start = span.begun;
    }
  }
  return bars;
}

/// The ops of a segment, in its first run.
void date_segment(const Segment& segment, const std::vector<TaskSpan>& tasks, Seconds start, ClassStep& one) {
  for (const TaskSpan& span : tasks) {
    const auto* compute = std::get_if<Compute>(&segment.program.of(span.stream)[at(span.task)]);
    if (compute == nullptr) continue;
    one.ops[at(compute->op)].start = start + span.start;
    one.ops[at(compute->op)].end = start + span.end;
  }
}

/// Fills in when the ops ran on the first rank of each class, and thus when the gradients of collectives were
/// ready.
void date_ops(const StepPlan& plan, const std::vector<std::set<std::size_t>>& classes_of, Step& step) {
  for (const TimelineEvent& bar : step.bars) {
    ClassStep& one = step.classes[at(bar.rank_class)];
    if (bar.rank != one.first || bar.op < 0 || bar.stream == Stream::launch) continue;
    OpRow& op = one.ops[at(bar.op)];
    if (op.runs > 1 && op.end > Seconds{}) continue;  // a later micro-batch's
    if (bar.segment >= 0) {
      date_segment(plan.graph.segments[at(bar.segment)], step.timeline.segments[at(bar.segment)], bar.start,
                   one);
    } else {
      op.start = bar.start;
      op.end = bar.end;
    }
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
  // Between the two the stream may wait for the launch of the collective.
  const auto is_wait = [](const Task& one) { return std::holds_alternative<Wait>(one); };
  const auto next = std::find_if_not(tasks.begin() + task + 1, tasks.end(), is_wait);
  const bool is_before = next != tasks.end() && std::holds_alternative<Join>(*next);
  return is_before ? planned.before : planned.after;
}

std::vector<Rank> shown_ranks(const ResolvedExperiment& resolved) {
  constexpr int most = 16;
  std::set<Rank> shown;
  const int first_ranks = resolved.layout ? 0 : std::min(most, resolved.cluster->ranks());
  for (int rank = 0; rank < first_ranks; ++rank) shown.insert(Rank{rank});
  for (const RankClass& one : resolved.classes) shown.insert(one.ranks.front());
  return {shown.begin(), shown.end()};
}

void add_rows(const ResolvedExperiment& resolved, RowUse use, Step& step) {
  step.classes.clear();
  const int micro_batches = resolved.layout ? resolved.layout->micro_batches : 1;
  for (std::size_t i = 0; i < resolved.classes.size(); ++i) {
    const RankClass& one = resolved.classes[i];
    ClassStep& made = step.classes.emplace_back();
    made.name = one.name;
    made.first = one.ranks.front();
    made.ops = op_rows(one.trace, step.plan.op_times[i], use);
    for (std::size_t op = 0; op < made.ops.size(); ++op)
      made.ops[op].runs = runs_of(one, static_cast<int>(op), micro_batches);
  }
  const auto classes_of = classes_of_collectives(resolved.classes, step.plan.graph);
  step.collectives =
      collective_rows(resolved.classes, classes_of, step.plan, step.timeline, resolved.stack.library);
  if (use != RowUse::timeline) return;
  step.bars = bars_of(resolved.classes, shown_ranks(resolved), step.plan, step.timeline);
  date_ops(step.plan, classes_of, step);
}

void add_decoding(const ResolvedExperiment& resolved, Seconds time, Step& step) {
  if (time <= Seconds{}) return;
  for (const Rank rank : shown_ranks(resolved)) {
    TimelineEvent& bar = step.bars.emplace_back();
    bar.rank = rank;
    bar.rank_class = static_cast<int>(class_index(resolved.classes, rank));
    bar.stream = Stream::compute;
    bar.category = "decoding";
    bar.start = step.timeline.makespan;
    bar.end = step.timeline.makespan + time;
  }
}

}  // namespace trainyard
