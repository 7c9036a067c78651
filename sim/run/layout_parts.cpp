#include "run/layout_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace trainyard {

namespace {

struct Stretch {
  Seconds start, end;
};

/// The stretches of time outside the compute stream's tasks, in order.
class Gaps {
public:
  void add(Seconds start, Seconds end) {
    if (end > start) gaps_.push_back({start, end});
  }

  /// Takes an interval out of the gaps; returns the length taken. Intervals come in order of their starts.
  Seconds take(Seconds start, Seconds end) {
    Seconds taken;
    std::vector<Stretch> rest;
    auto gap = std::ranges::lower_bound(gaps_, start, {}, &Stretch::end);
    auto place = gap - gaps_.begin();
    for (; gap != gaps_.end() && gap->start < end; ++gap) {
      const Seconds from = std::max(start, gap->start);
      const Seconds to = std::min(end, gap->end);
      if (to <= from) {
        rest.push_back(*gap);
        continue;
      }
      taken += to - from;
      if (gap->start < from) rest.push_back({gap->start, from});
      if (to < gap->end) rest.push_back({to, gap->end});
    }
    const auto first = gaps_.begin() + place;
    gaps_.insert(gaps_.erase(first, gap), rest.begin(), rest.end());
    return taken;
  }

  [[nodiscard]] Seconds length() const {
    Seconds sum;
    for (const Stretch& gap : gaps_) sum += gap.end - gap.start;
    return sum;
  }

private:
  std::vector<Stretch> gaps_;
};

StepPart part_of(const Op& op) {
  if (op.kind == OpKind::host) return StepPart::host;
  if (op.role == OpRole::recompute) return StepPart::recompute;
  if (op.phase == Phase::forward) return StepPart::forward;
  return op.phase == Phase::backward ? StepPart::backward : StepPart::optimizer;
}

StepPart part_of(const Collective& what) {
  if (what.one_way) return StepPart::messages;
  return what.label.of_layers ? StepPart::layers : StepPart::communication;
}

/// The time of each part of a step.
using PartTimes = std::array<Seconds, 1 + static_cast<std::size_t>(StepPart::other)>;

/// The kernels of a segment.
struct KernelTimes {
  PartTimes of_parts{};
  Seconds sum;
};

class PartsOfRank {
public:
  PartsOfRank(const RankClass& one, const Step& step) : one_(one), step_(step) {
    const TaskGraph& graph = step.plan.graph;
    program_ = &graph.programs[at(graph.program_of_rank[at(index(one.ranks.front()))])];
  }

  StepParts parts() {
    for (const TaskSpan& span : step_.timeline.spans) {
      if (span.rank == one_.ranks.front() && span.stream == Stream::launch) launched_.insert(span.end);
    }
    for (const TaskSpan& span : step_.timeline.spans) {
      if (span.rank != one_.ranks.front()) continue;
      if (span.stream == Stream::compute)
        add_task(span);
      else if (span.stream != Stream::launch && is_join(span))
        beside_.push_back(&span);
    }
    gaps_.add(busy_until_, step_.timeline.makespan);
    time_of(StepPart::host) += launch_waits_;
    take_collectives();
    time_of(StepPart::bubble) = gaps_.length();
    StepParts made{.parts = {}, .collectives = {}, .launch_waits = without_rounding(launch_waits_)};
    for (const StepPart part :
         {StepPart::forward, StepPart::backward, StepPart::recompute, StepPart::optimizer, StepPart::host,
          StepPart::kernel_slowdown, StepPart::layers, StepPart::messages, StepPart::communication,
          StepPart::bubble})
      made.parts.push_back({part, without_rounding(time_of(part))});
    for (const auto& [collective, time] : exposed_) {
      if (time > Seconds{}) made.collectives.push_back({collective, time});
    }
    return made;
  }

private:
  /// The time, or zero if it is only a rounding error of sums and differences of dates.
  [[nodiscard]] Seconds without_rounding(Seconds time) const {
    constexpr double rounding = 1e-12;
    return std::abs(time / step_.timeline.makespan) < rounding ? Seconds{} : time;
  }

  Seconds& time_of(StepPart part) { return times_[static_cast<std::size_t>(part)]; }

  [[nodiscard]] const Task& task_of(const TaskSpan& span) const {
    return program_->of(span.stream)[at(span.task)];
  }
  [[nodiscard]] bool is_join(const TaskSpan& span) const {
    return std::holds_alternative<Join>(task_of(span));
  }

  void add_task(const TaskSpan& span) {
    if (launched_.contains(span.start))  // the launch came last of all that it waited for
      launch_waits_ += std::max(Seconds{}, span.start - busy_until_);
    else
      gaps_.add(busy_until_, span.start);
    busy_until_ = span.end;
    const Task& task = task_of(span);
    if (const auto* run = std::get_if<RunSegment>(&task)) {
      const KernelTimes& kernels = kernels_of(run->segment);
      for (std::size_t part = 0; part < kernels.of_parts.size(); ++part)
        times_[part] += kernels.of_parts[part];
      time_of(StepPart::kernel_slowdown) += span.busy - kernels.sum;
      time_of(StepPart::layers) += span.end - span.start - span.busy;
    } else if (const auto* compute = std::get_if<Compute>(&task)) {
      time_of(part_of(one_.trace.ops[at(compute->op)])) += compute->duration;
      time_of(StepPart::kernel_slowdown) += span.busy - compute->duration;
    } else {
      add_exposed(std::get<Join>(task).collective, span.end - span.begun);
      gaps_.add(span.start, span.begun);
    }
  }

  /// The kernels of a segment, alone; added up once, since a step runs it for each micro-batch.
  const KernelTimes& kernels_of(int segment) {
    const auto [entry, is_new] = kernels_.try_emplace(segment);
    if (!is_new) return entry->second;
    for (const Task& task : step_.plan.graph.segments[at(segment)].program.of(Stream::compute)) {
      const auto* compute = std::get_if<Compute>(&task);
      if (compute == nullptr) continue;
      const StepPart part = part_of(one_.trace.ops[at(compute->op)]);
      entry->second.of_parts[static_cast<std::size_t>(part)] += compute->duration;
      entry->second.sum += compute->duration;
    }
    return entry->second;
  }

  void add_exposed(int collective, Seconds time) {
    const Collective& what = step_.plan.graph.collectives[at(collective)];
    const StepPart part = part_of(what);
    time_of(part) += time;
    if (part == StepPart::communication) exposed_[collective] += time;
  }

  /// Collectives on other streams, those of layers first.
  void take_collectives() {
    const auto rank_of = [&](const TaskSpan* span) {
      const Collective& what = step_.plan.graph.collectives[at(std::get<Join>(task_of(*span)).collective)];
      return part_of(what);
    };
    for (const StepPart part : {StepPart::layers, StepPart::messages, StepPart::communication}) {
      for (const TaskSpan* span : beside_) {
        if (rank_of(span) != part) continue;
        add_exposed(std::get<Join>(task_of(*span)).collective, gaps_.take(span->begun, span->end));
      }
    }
  }

  const RankClass& one_;
  const Step& step_;
  const Program* program_ = nullptr;
  PartTimes times_{};
  std::map<int, KernelTimes> kernels_;  ///< by segment
  std::map<int, Seconds> exposed_;
  std::vector<const TaskSpan*> beside_;
  std::set<Seconds> launched_;  ///< ends of launches
  Seconds launch_waits_ = {};
  Gaps gaps_;
  Seconds busy_until_;
};

}  // namespace

StepParts layout_parts(const ResolvedExperiment& resolved, const Step& step, std::size_t class_number) {
  return PartsOfRank(resolved.classes[class_number], step).parts();
}

}  // namespace trainyard
