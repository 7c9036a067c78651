// Divides the critical path of explain_step.hpp into readable segments.

#include "explain/explain_step.hpp"
#include "run/step.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

namespace trainyard {

namespace {

/// Maximum number of runs of layers for the kernels of a phase.
constexpr int most_runs = 6;

/// "layer1" of "layer1.0.conv2".
std::string_view module_of(std::string_view layer) { return layer.substr(0, layer.find('.')); }

bool is_kernels(const PathSegment& segment) { return segment.ops > 0; }

/// One segment for each piece.
PathSegment segment_of(const ReplayedStep& step, const PathPiece& piece) {
  const TaskGraph& graph = step.plan.graph;
  const Program& program = graph.programs[at(graph.program_of_rank[at(index(piece.rank))])];
  const std::vector<Task>& tasks = program.of(piece.stream);
  PathSegment segment;
  segment.rank = piece.rank;
  segment.start = piece.start;
  segment.length = piece.end - piece.start;
  if (const auto* join = std::get_if<Join>(&tasks[at(piece.task)])) {
    segment.kind = PathKind::collective;
    segment.collective = join->collective;
    return segment;
  }
  const auto& compute = std::get<Compute>(tasks[at(piece.task)]);
  segment.kind = kind_of(step, piece, compute);
  if (compute.op < 0) {
    segment.collective = compute.collective;
    segment.what =
        segment.kind == PathKind::host ? "launch" : side_work(step.plan, piece.stream, tasks, piece.task);
    return segment;
  }
  const Op& op = class_of(step.resolved, piece.rank).trace.ops[at(compute.op)];
  segment.first = segment.last = op.layer;
  segment.ops = 1;
  const Seconds slowed = segment.length - compute.duration;
  constexpr double rounding = 1e-9;  // for dates far from 0, however short the kernel
  if (slowed > rounding * step.timeline.makespan) segment.slowed = slowed;
  return segment;
}

/// Consecutive kernels of one phase on one rank.
struct OpRun {
  std::vector<PathSegment> ops;
  Seconds length;
};

bool continues(const OpRun& run, const PathSegment& next) {
  return !run.ops.empty() && is_kernels(run.ops.back()) && is_kernels(next) &&
         run.ops.back().kind == next.kind && run.ops.back().rank == next.rank;
}

/// Adds the run in segments, cut where a module ends and enough time has passed.
void add_cut(const OpRun& run, std::vector<PathSegment>& path) {
  const Seconds least = run.length / most_runs;
  const std::size_t begun = path.size();
  for (const PathSegment& op : run.ops) {
    const bool is_new = path.size() == begun ||
                        (path.back().length >= least && module_of(path.back().last) != module_of(op.first));
    if (is_new) {
      path.push_back(op);
      continue;
    }
    PathSegment& segment = path.back();
    segment.length += op.length;
    segment.last = op.last;
    segment.ops += op.ops;
    segment.slowed += op.slowed;
  }
}

std::vector<PathSegment> grouped(const std::vector<PathSegment>& pieces) {
  std::vector<PathSegment> path;
  OpRun run;
  for (const PathSegment& piece : pieces) {
    if (!continues(run, piece)) {
      add_cut(run, path);
      run = {};
    }
    run.ops.push_back(piece);
    run.length += piece.length;
  }
  add_cut(run, path);
  return path;
}

PathSegment input_segment(InputLimit limit, Seconds length) {
  PathSegment segment;
  segment.kind = PathKind::input;
  segment.length = length;
  segment.what = name_of(limit);
  return segment;
}

}  // namespace

PathKind kind_of(const ReplayedStep& step, const PathPiece& piece, const Compute& task) {
  if (piece.stream == Stream::launch) return PathKind::host;
  if (task.op < 0) return PathKind::framework;
  const Op& op = class_of(step.resolved, piece.rank).trace.ops[at(task.op)];
  if (op.kind == OpKind::host) return PathKind::host;
  if (op.phase == Phase::forward) return PathKind::forward;
  return op.phase == Phase::backward ? PathKind::backward : PathKind::optimizer;
}

std::vector<PathSegment> path_segments(const ReplayedStep& step) {
  const InputSettings& settings = step.resolved.settings.input;
  const Seconds makespan = step.timeline.makespan;
  const Seconds whole = with_input(makespan, step.input, settings);
  const Seconds exposed = whole - makespan;
  const Seconds ahead = step.input && is_prefetched(settings) ? step.input->kernels : Seconds{};
  // The loader works all the time, and each step begins when its samples are ready.
  if (is_prefetched(settings) && whole > makespan + ahead)
    return {input_segment(step.input->limit, makespan + exposed)};
  std::vector<PathSegment> pieces;
  if (exposed > Seconds{})
    pieces.push_back(input_segment(ahead > Seconds{} ? InputLimit::kernels : step.input->limit, exposed));
  if (step.resolved.layout) {
    for (PathSegment& segment : layout_path(step)) {
      segment.start += exposed;
      pieces.push_back(std::move(segment));
    }
    return pieces;
  }
  for (const PathPiece& piece : critical_path(step.plan.graph, step.timeline)) {
    pieces.push_back(segment_of(step, piece));
    pieces.back().start += exposed;
  }
  return grouped(pieces);
}

}  // namespace trainyard
