#include "explain/critical_path.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

namespace trainyard {

namespace {

/// The place at which an event of a program is recorded.
struct RecordPlace {
  int stream = 0;
  int task = 0;
};

std::vector<RecordPlace> record_places(const Program& program) {
  std::vector<RecordPlace> places(at(program.events));
  for (int stream = 0; stream < program.stream_number(); ++stream) {
    const std::vector<Task>& tasks = program.streams[at(stream)];
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      if (const auto* record = std::get_if<Record>(&tasks[task]))
        places[at(record->event)] = {stream, static_cast<int>(task)};
    }
  }
  return places;
}

/// The prerequisite of a task that ended last; no span: the beginning.
struct Cause {
  Seconds date;
  const TaskSpan* span = nullptr;
};

class Walk {
public:
  Walk(const TaskGraph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline) {
    for (const Program& program : graph.programs) places_.push_back(record_places(program));
    for (const TaskSpan& span : timeline.spans) {
      spans_[{index(span.rank), static_cast<int>(span.stream), span.task}] = &span;
      if (const auto* join = std::get_if<Join>(&task_of(span))) joins_[join->collective].push_back(&span);
    }
  }

  std::vector<PathPiece> back_from_the_end() {
    const TaskSpan* span = last();
    Seconds end = span != nullptr ? span->end : Seconds{};
    while (span != nullptr) {
      const TaskSpan* waited = last_to_arrive(*span);
      // Blocks of a rank that arrived early only wait for the last rank.
      const Seconds start = waited != nullptr ? waited->start : span->start;
      if (end > start) pieces_.push_back({span->rank, span->stream, span->task, start, end});
      const Cause cause = before(waited != nullptr ? *waited : *span);
      check(start, cause, *span);
      span = cause.span;
      end = start;
    }
    std::ranges::reverse(pieces_);
    return std::move(pieces_);
  }

private:
  [[nodiscard]] const Program& program(int rank) const {
    return graph_.programs[at(graph_.program_of_rank[at(rank)])];
  }
  [[nodiscard]] const Task& task_of(const TaskSpan& span) const {
    return program(index(span.rank)).of(span.stream)[at(span.task)];
  }

  /// The task that ends last; if several end together, a computing one, of the lowest rank.
  [[nodiscard]] const TaskSpan* last() const {
    const TaskSpan* found = nullptr;
    for (const auto& [place, span] : spans_) {
      if (found == nullptr || span->end > found->end ||
          (span->end == found->end && span->stream < found->stream))
        found = span;
    }
    return found;
  }

  /// The last rank to arrive at a collective, if this one had to wait for it.
  [[nodiscard]] const TaskSpan* last_to_arrive(const TaskSpan& span) const {
    const auto* join = std::get_if<Join>(&task_of(span));
    if (join == nullptr) return nullptr;
    const bool is_repeated = graph_.collectives[at(join->collective)].rounds > 1;
    const Seconds begun = is_repeated ? span.begun : timeline_.collectives[at(join->collective)].start;
    // With every message simulated, a rank may have left before the last one arrived.
    if (begun <= span.start || begun >= span.end) return nullptr;
    for (const TaskSpan* other : joins_.at(join->collective)) {
      if (other->start == begun && (!is_repeated || other->begun == begun)) return other;
    }
    throw EngineError(
        fmt::format("collective {} begins at {} s, but no rank arrives then", join->collective, begun.si()));
  }

  [[nodiscard]] Cause before(const TaskSpan& span) const {
    return before(index(span.rank), static_cast<int>(span.stream), span.task);
  }

  /// When the stream reached this task, and the cause.
  [[nodiscard]] Cause before(int rank, int stream, int task) const {
    const std::vector<Task>& tasks = program(rank).streams[at(stream)];
    Cause latest;
    while (--task >= 0) {
      if (const auto* wait = std::get_if<Wait>(&tasks[at(task)])) {
        const RecordPlace place = places_[at(graph_.program_of_rank[at(rank)])][at(wait->event)];
        const Cause event = before(rank, place.stream, place.task);
        if (event.date > latest.date) latest = event;
      } else if (!std::holds_alternative<Record>(tasks[at(task)])) {
        const auto own = spans_.find({rank, stream, task});
        if (own == spans_.end())
          throw EngineError(fmt::format("the critical path reaches rank {}, which is not recorded", rank));
        // If two end together, the stream's own task counts.
        return own->second->end >= latest.date ? Cause{own->second->end, own->second} : latest;
      }
    }
    return latest;
  }

  void check(Seconds start, const Cause& cause, const TaskSpan& span) const {
    constexpr double rounding = 1e-9;
    const double gap = start.si() - cause.date.si();
    if (gap <= rounding * timeline_.makespan.si() && gap >= -rounding * timeline_.makespan.si()) return;
    throw EngineError(fmt::format("task {} of rank {} begins {} s after everything it waits for", span.task,
                                  index(span.rank), gap));
  }

  const TaskGraph& graph_;
  const Timeline& timeline_;
  std::vector<std::vector<RecordPlace>> places_;  ///< by program, for each event
  std::map<std::tuple<int, int, int>, const TaskSpan*> spans_;
  std::map<int, std::vector<const TaskSpan*>> joins_;  ///< by collective
  std::vector<PathPiece> pieces_;
};

/// True for a rank of the machine that is not in the job.
bool is_idle(const Program& program) {
  return std::ranges::all_of(program.streams, [](const std::vector<Task>& tasks) { return tasks.empty(); });
}

}  // namespace

std::vector<Rank> ranks_on_paths(const TaskGraph& graph, Fidelity fidelity) {
  std::vector<Rank> ranks;
  std::vector<bool> is_known(graph.programs.size());
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    if (!graph.job_of_rank.empty() && graph.job_of_rank[at(rank)] != 0) continue;
    const std::size_t program = at(graph.program_of_rank[at(rank)]);
    if (is_idle(graph.programs[program])) continue;
    if (fidelity != Fidelity::messages && is_known[program]) continue;
    is_known[program] = true;
    ranks.push_back(Rank{rank});
  }
  return ranks;
}

std::vector<PathPiece> critical_path(const TaskGraph& graph, const Timeline& timeline) {
  return Walk(graph, timeline).back_from_the_end();
}

}  // namespace trainyard
