// The critical path of a step whose ranks share a model, summed by stage and kind.

#include "explain/explain_step.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

namespace trainyard {

namespace {

PathKind kind_of_collective(const Collective& collective) {
  if (collective.one_way) return PathKind::messages;
  return collective.label.of_layers ? PathKind::layers : PathKind::collective;
}

class LayoutPath {
public:
  explicit LayoutPath(const ReplayedStep& step) : step_(step) {
    for (const TaskSpan& span : step.timeline.spans)
      spans_[{index(span.rank), static_cast<int>(span.stream), span.task}] = &span;
  }

  std::vector<PathSegment> segments() {
    for (const PathPiece& piece : critical_path(step_.plan.graph, step_.timeline)) add(piece);
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const std::map<int, Seconds>& times = times_of_[i];
      const auto longest = std::ranges::max_element(times, {}, [](const auto& one) { return one.second; });
      if (longest != times.end()) path_[i].collective = longest->first;
    }
    return std::move(path_);
  }

private:
  void add(const PathPiece& piece) {
    const Program& program =
        step_.plan.graph.programs[at(step_.plan.graph.program_of_rank[at(index(piece.rank))])];
    const Task& task = program.of(piece.stream)[at(piece.task)];
    const Seconds length = piece.end - piece.start;
    if (const auto* run = std::get_if<RunSegment>(&task)) {
      add_pass(piece, run->segment);
    } else if (const auto* join = std::get_if<Join>(&task)) {
      add_collective(piece, join->collective, length, 1);
    } else {
      const auto& compute = std::get<Compute>(task);
      PathSegment& segment = at_place(piece, kind_of(step_, piece, compute));
      segment.length += length;
      if (piece.stream == Stream::launch || compute.op < 0) return;
      segment.ops += 1;
      segment.slowed += delay(length - compute.duration);
    }
  }

  /// Kernels, and the collectives between them for which they wait.
  void add_pass(const PathPiece& piece, int number) {
    const Segment& pass = step_.plan.graph.segments[at(number)];
    const TaskSpan& span = *spans_.at({index(piece.rank), static_cast<int>(piece.stream), piece.task});
    Seconds alone;
    int kernels = 0;
    for (const Task& task : pass.program.of(Stream::compute)) {
      const auto* compute = std::get_if<Compute>(&task);
      if (compute == nullptr) continue;
      alone += compute->duration;
      ++kernels;
    }
    PathSegment& segment =
        at_place(piece, pass.phase == Phase::forward ? PathKind::forward : PathKind::backward);
    const Seconds length = piece.end - piece.start;
    const Seconds busy = std::min(span.busy, length);
    segment.length += busy;
    segment.passes += 1;
    segment.ops += kernels;
    segment.slowed += delay(busy - alone);
    if (length > busy) add_collectives_of(piece, number, length - busy);
  }

  /// The collectives of a pass on the path take this time together; each its share.
  void add_collectives_of(const PathPiece& piece, int number, Seconds exposed) {
    const Segment& pass = step_.plan.graph.segments[at(number)];
    std::map<int, Seconds> times;
    Seconds sum;
    for (const TaskSpan& span : step_.timeline.segments[at(number)]) {
      const auto* join = std::get_if<Join>(&pass.program.of(span.stream)[at(span.task)]);
      if (join == nullptr || span.end <= span.begun) continue;
      times[join->collective] += span.end - span.begun;
      sum += span.end - span.begun;
    }
    for (const auto& [collective, time] : times) add_collective(piece, collective, exposed * (time / sum), 1);
  }

  void add_collective(const PathPiece& piece, int number, Seconds length, int times) {
    const PathKind kind = kind_of_collective(step_.plan.graph.collectives[at(number)]);
    const Operation operation = step_.plan.graph.collectives[at(number)].operation;
    PathSegment& segment =
        at_place(piece, kind, kind == PathKind::collective ? static_cast<int>(operation) : -1);
    segment.length += length;
    segment.times += times;
    times_of_[static_cast<std::size_t>(&segment - path_.data())][number] += length;
  }

  /// The segment to which a piece belongs, which it may begin.
  PathSegment& at_place(const PathPiece& piece, PathKind kind, int operation = -1) {
    const auto [place, is_new] = places_.try_emplace({index(piece.rank), kind, operation}, path_.size());
    if (is_new) {
      PathSegment segment;
      segment.kind = kind;
      segment.rank = piece.rank;
      segment.start = piece.start;
      segment.times = 0;
      segment.what = class_of(step_.resolved, piece.rank).name;
      path_.push_back(std::move(segment));
      times_of_.emplace_back();
    }
    return path_[place->second];
  }

  [[nodiscard]] Seconds delay(Seconds longer) const {
    constexpr double rounding = 1e-9;
    return longer > rounding * step_.timeline.makespan ? longer : Seconds{};
  }

  const ReplayedStep& step_;
  std::map<std::tuple<int, int, int>, const TaskSpan*> spans_;
  std::map<std::tuple<int, PathKind, int>, std::size_t> places_;
  std::vector<PathSegment> path_;
  std::vector<std::map<int, Seconds>> times_of_;  ///< of each segment, by collective
};

}  // namespace

std::vector<PathSegment> layout_path(const ReplayedStep& step) { return LayoutPath(step).segments(); }

}  // namespace trainyard
