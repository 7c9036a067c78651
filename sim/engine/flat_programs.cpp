#include "engine/flat_programs.hpp"

#include "engine/alone_times.hpp"
#include "engine/executors.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr int no_task = -1;

/// Takes no time; it dates the end of a segment that ends with a wait.
const Task end_of_segment = Compute{};

/// A program for one rank alone, whose collectives take given times.
struct SegmentGraph {
  TaskGraph graph;
  std::vector<int> collectives;  ///< by its collective: that of the whole graph
};

SegmentGraph segment_graph(const Program& program, const TaskGraph& whole, AloneTimes& alone) {
  SegmentGraph made;
  made.graph.programs = {program};
  made.graph.program_of_rank = {0};
  std::map<int, int> numbers;
  for_each_task<Join>(made.graph.programs.front(), [&](Join& join) {
    const auto [entry, is_new] =
        numbers.try_emplace(join.collective, static_cast<int>(made.collectives.size()));
    if (is_new) {
      const Collective& collective = whole.collectives[at(join.collective)];
      made.collectives.push_back(join.collective);
      made.graph.collectives.push_back({.operation = collective.operation,
                                        .size = collective.size,
                                        .participants = 1,
                                        .group_size = 1,
                                        .overhead = alone(join.collective),
                                        .phases = {}});
    }
    join.collective = entry->second;
  });
  return made;
}

/// The use of the GPU by all tasks of a program that slow others, averaged over the time that it takes.
GpuUse mean_use(const Program& program, const Timeline& timeline, SlowedBy slowed_by) {
  GpuUse mean{.sms = 0, .memory = 0, .kept = 0};
  double weight = 0;
  for (const TaskSpan& span : timeline.spans) {
    const Task& task = program.of(span.stream)[at(span.task)];
    const double length = (span.end - span.start).si();
    const auto* compute = std::get_if<Compute>(&task);
    const GpuUse use =
        compute != nullptr ? use_of(*compute, slowed_by) : use_of(std::get<Join>(task), slowed_by);
    mean.sms += use.sms * length;
    mean.memory += use.memory * length;
    if (compute == nullptr) continue;
    mean.kept += use.kept * length;
    weight += length;
  }
  const double whole = timeline.makespan.si();
  if (whole <= 0) return {};
  return {.sms = std::min(1.0, mean.sms / whole),
          .memory = std::min(1.0, mean.memory / whole),
          .kept = weight > 0 ? mean.kept / weight : GpuUse{}.kept};
}

Seconds overheads_of(Program& program) {
  Seconds sum;
  for_each_task<Compute>(program, [&](const Compute& compute) { sum += compute.overhead; });
  return sum;
}

}  // namespace

FlatPrograms::FlatPrograms(const TaskGraph& graph, bool fold, const StepVariant& variant)
    : graph_(graph), alone_(graph.segments.size()) {
  AloneTimes alone(graph, variant);
  for (std::size_t i = 0; fold && i < graph.segments.size(); ++i) {
    if (!graph.segments[i].is_undisturbed) continue;
    SegmentGraph segment = segment_graph(graph.segments[i].program, graph, alone);
    const Timeline timeline = run_closed(
        segment.graph,
        {.fidelity = Fidelity::closed, .variant = {.slowed_by = variant.slowed_by}, .recorded = {Rank{0}}});
    Program& program = segment.graph.programs.front();
    alone_[i] = {.task = {.duration = timeline.makespan,
                          .segment = static_cast<int>(i),
                          .use = mean_use(program, timeline, variant.slowed_by),
                          .overhead = overheads_of(program)},
                 .busy = timeline.ranks.front(),
                 .collectives = std::move(segment.collectives),
                 .spans = timeline.collectives,
                 .tasks = timeline.spans};
  }
  for (const Program& program : graph.programs) flat_.push_back(flattened(program));
}

bool FlatPrograms::has_disturbed_segment(const Program& program) const {
  return std::ranges::any_of(program.of(Stream::compute), [&](const Task& task) {
    const auto* run = std::get_if<RunSegment>(&task);
    return run != nullptr && !alone_[at(run->segment)];
  });
}

RankSpan FlatPrograms::busy_in(const Compute& task, Seconds taken) const {
  RankSpan busy{.compute = taken, .communication = {}, .end = {}};
  if (task.segment < 0) return busy;
  busy = alone_[at(task.segment)]->busy;
  busy.compute += taken - task.duration;
  return busy;
}

void FlatPrograms::reserve(const Program& program, FlatProgram& flat) const {
  std::vector<std::size_t> sizes;
  for (const std::vector<Task>& stream : program.streams) sizes.push_back(stream.size());
  for (const Task& task : program.of(Stream::compute)) {
    const auto* run = std::get_if<RunSegment>(&task);
    if (run == nullptr || alone_[at(run->segment)]) continue;
    const Program& segment = graph_.segments[at(run->segment)].program;
    sizes.resize(std::max(sizes.size(), segment.streams.size()));
    for (std::size_t i = 0; i < segment.streams.size(); ++i) sizes[i] += segment.streams[i].size();
  }
  flat.streams.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) flat.streams[i].reserve(sizes[i]);
}

FlatProgram FlatPrograms::flattened(const Program& program) const {
  FlatProgram flat;
  flat.events = program.events;
  if (!has_disturbed_segment(program)) {
    for (const std::vector<Task>& stream : program.streams) flat.streams.emplace_back(stream);
    return flat;
  }
  reserve(program, flat);
  constexpr auto compute = static_cast<std::size_t>(Stream::compute);
  std::vector<bool> is_ahead(at(program.events));  // events of the compute stream that are still to come
  for (const Task& task : program.streams[compute]) {
    if (const auto* record = std::get_if<Record>(&task)) is_ahead[at(record->event)] = true;
  }
  const auto add = [&](std::size_t stream, std::size_t i) {
    flat.streams[stream].push_back({&program.streams[stream][i], 0, static_cast<int>(i)});
  };
  std::vector<std::size_t> next(program.streams.size());
  const auto add_other_streams = [&] {  // up to a task that waits for the compute stream
    for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
      for (; stream != compute && next[stream] < program.streams[stream].size(); ++next[stream]) {
        const auto* wait = std::get_if<Wait>(&program.streams[stream][next[stream]]);
        if (wait != nullptr && is_ahead[at(wait->event)]) break;
        add(stream, next[stream]);
      }
    }
  };
  for (std::size_t i = 0; i < program.streams[compute].size(); ++i) {
    const Task& task = program.streams[compute][i];
    const auto* run = std::get_if<RunSegment>(&task);
    if (run != nullptr && !alone_[at(run->segment)]) {
      add_other_streams();
      write_out(graph_.segments[at(run->segment)], static_cast<int>(i), flat);
      continue;
    }
    add(compute, i);
    if (const auto* record = std::get_if<Record>(&task)) is_ahead[at(record->event)] = false;
  }
  add_other_streams();
  return flat;
}

void FlatPrograms::write_out(const Segment& segment, int origin, FlatProgram& flat) {
  const int first_event = std::exchange(flat.events, flat.events + segment.program.events);
  constexpr auto compute = static_cast<std::size_t>(Stream::compute);
  for (std::size_t stream = 0; stream < segment.program.streams.size(); ++stream) {
    for (const Task& task : segment.program.streams[stream])
      flat.streams[stream].push_back({&task, first_event, stream == compute ? origin : no_task});
  }
  flat.streams[compute].push_back({&end_of_segment, first_event, origin});
}

void FlatPrograms::restore(Timeline& timeline, std::span<const double> first_start) const {
  if (graph_.segments.empty()) return;
  timeline.segments.resize(alone_.size());
  for (std::size_t i = 0; i < alone_.size(); ++i) {
    if (alone_[i]) timeline.segments[i] = alone_[i]->tasks;
  }
  add_collectives(timeline, first_start);
}

void FlatPrograms::add_collectives(Timeline& timeline, std::span<const double> first_start) const {
  std::vector<int> runs(alone_.size());
  for (const Program& program : graph_.programs) {
    for (const Task& task : program.of(Stream::compute)) {
      if (const auto* run = std::get_if<RunSegment>(&task)) ++runs[at(run->segment)];
    }
  }
  std::map<int, Bytes> carried;  // by pattern, per edge
  for (std::size_t i = 0; i < alone_.size(); ++i) {
    if (!alone_[i] || runs[i] == 0) continue;
    for (std::size_t k = 0; k < alone_[i]->collectives.size(); ++k) {
      const int number = alone_[i]->collectives[k];
      const Seconds start{std::max(0.0, first_start[i])};
      const CollectiveSpan& span = alone_[i]->spans[k];
      timeline.collectives[at(number)] = {
          .first_arrival = start + span.first_arrival, .start = start + span.start, .end = start + span.end};
      for (const CollectivePhase& phase : graph_.collectives[at(number)].phases)
        carried[phase.pattern] += static_cast<double>(runs[i]) * phase.messages * phase.bytes;
    }
  }
  if (timeline.link_bytes.empty()) return;
  for (const auto& [pattern, bytes] : carried)
    add_link_bytes(bytes, uses_of(graph_.patterns[at(pattern)]), timeline.link_bytes);
}

}  // namespace trainyard::engine
