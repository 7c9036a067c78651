#include "engine/makespan.hpp"

#include "engine/alone_times.hpp"
#include "engine/executors.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace trainyard {

namespace engine {

namespace {

constexpr auto compute_stream = static_cast<std::size_t>(Stream::compute);

/// The dates of one rank's streams and events, of a program or a segment.
struct Walk {
  static constexpr double not_yet = -1;
  struct Cursor {
    std::size_t task = 0;
    double date = 0;
    int awaited = -1;  ///< the event, if the stream waits for one
  };

  Walk(const Program& of, double begin)
      : program(&of), cursors(of.streams.size(), Cursor{.date = begin}), events(at(of.events), not_yet) {}

  [[nodiscard]] double last() const {
    double date = 0;
    for (const Cursor& cursor : cursors) date = std::max(date, cursor.date);
    return date;
  }

  const Program* program;
  std::vector<Cursor> cursors;
  std::vector<double> events;
};

/// Follows the tasks of every program in any order in which they depend on each other.
class LongestPath {
public:
  LongestPath(const TaskGraph& graph, const StepVariant& variant)
      : graph_(graph),
        times_(graph, variant),
        ranks_(graph.programs.size()),
        meetings_(graph.collectives.size()),
        alone_(graph.segments.size(), Walk::not_yet) {
    for (const int program : graph.program_of_rank) ++ranks_[at(program)];
  }

  /// Empty if some tasks never end.
  std::optional<Seconds> makespan() {
    for (const Program& program : graph_.programs) walks_.emplace_back(program, 0);
    for (int one = 0; at(one) < walks_.size(); ++one) {
      if (ranks_[at(one)] == 0) continue;
      for (std::size_t stream = 0; stream < walks_[at(one)].cursors.size(); ++stream)
        ready_.push_back({one, stream});
    }
    while (!ready_.empty()) {
      const Place place = ready_.back();
      ready_.pop_back();
      if (!go_on(place)) return std::nullopt;
    }
    double last = 0;
    for (int one = 0; at(one) < walks_.size(); ++one) {
      if (ranks_[at(one)] == 0) continue;
      if (!has_ended(walks_[at(one)])) return std::nullopt;
      last = std::max(last, walks_[at(one)].last());
    }
    return Seconds{last};
  }

private:
  struct Place {
    int walk = 0;
    std::size_t stream = 0;
  };
  /// A round of a collective.
  struct Meeting {
    int arrived = 0;   ///< ranks
    double start = 0;  ///< the last arrival
    std::vector<Place> members = {};
  };

  static bool has_ended(const Walk& walk) {
    for (std::size_t stream = 0; stream < walk.cursors.size(); ++stream) {
      if (walk.cursors[stream].task < walk.program->streams[stream].size()) return false;
    }
    return true;
  }

  /// Follows a stream until it has to wait. False if a segment cannot end.
  bool go_on(Place place) {
    Walk& walk = walks_[at(place.walk)];
    Walk::Cursor& cursor = walk.cursors[place.stream];
    const std::vector<Task>& tasks = walk.program->streams[place.stream];
    while (cursor.task < tasks.size()) {
      const Task& task = tasks[cursor.task];
      if (const auto* join = std::get_if<Join>(&task)) {
        arrive(place, join->collective);
        return true;
      }
      if (const auto* run = std::get_if<RunSegment>(&task)) {
        const std::optional<double> end = after_segment(run->segment, cursor.date);
        if (!end) return false;
        cursor.date = *end;
      } else if (!passes(task, walk, cursor)) {
        return true;
      }
      if (const auto* record = std::get_if<Record>(&task)) wake(place.walk, record->event);
      ++cursor.task;
    }
    return true;
  }

  /// Takes a kernel or an event; false if the event has not happened.
  static bool passes(const Task& task, Walk& walk, Walk::Cursor& cursor) {
    if (const auto* compute = std::get_if<Compute>(&task)) {
      cursor.date += compute->duration.si();
      return true;
    }
    if (const auto* record = std::get_if<Record>(&task)) {
      walk.events[at(record->event)] = cursor.date;
      return true;
    }
    const int event = std::get<Wait>(task).event;
    const double happened = walk.events[at(event)];
    cursor.awaited = happened == Walk::not_yet ? event : -1;
    if (happened == Walk::not_yet) return false;
    cursor.date = std::max(cursor.date, happened);
    return true;
  }

  void wake(int walk, int event) {
    std::vector<Walk::Cursor>& cursors = walks_[at(walk)].cursors;
    for (std::size_t stream = 0; stream < cursors.size(); ++stream) {
      if (cursors[stream].awaited == event) ready_.push_back({walk, stream});
    }
  }

  /// All ranks of a program arrive at the same date, and all members leave at the end.
  void arrive(Place place, int collective) {
    Meeting& meeting = meetings_[at(collective)];
    meeting.arrived += ranks_[at(place.walk)];
    meeting.start = std::max(meeting.start, cursor_of(place).date);
    meeting.members.push_back(place);
    if (meeting.arrived < graph_.collectives[at(collective)].participants) return;
    const double end = meeting.start + times_(collective).si();
    for (const Place member : meeting.members) {
      cursor_of(member).date = end;
      ++cursor_of(member).task;
      ready_.push_back(member);
    }
    meeting.arrived = 0;
    meeting.start = 0;
    meeting.members.clear();
  }

  Walk::Cursor& cursor_of(Place place) { return walks_[at(place.walk)].cursors[place.stream]; }

  /// The date after a segment, as FlatPrograms has it: an undisturbed segment takes the time that it takes
  /// alone, and any other is followed task by task, so that sums are rounded alike.
  std::optional<double> after_segment(int number, double date) {
    const Segment& segment = graph_.segments[at(number)];
    if (!segment.is_undisturbed) return end_of(segment.program, date, false);
    if (alone_[at(number)] == Walk::not_yet) {
      const std::optional<double> alone = end_of(segment.program, 0, true);
      if (!alone) return std::nullopt;
      alone_[at(number)] = *alone;
    }
    return date + alone_[at(number)];
  }

  /// The end of one rank's tasks, which meet no other program's: on all streams, or on the compute stream
  /// alone.
  std::optional<double> end_of(const Program& program, double date, bool of_all) {
    Walk walk(program, date);
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::size_t stream = 0; stream < walk.cursors.size(); ++stream) {
        Walk::Cursor& cursor = walk.cursors[stream];
        const std::size_t before = cursor.task;
        follow(program.streams[stream], walk, cursor);
        has_moved = has_moved || cursor.task > before;
      }
    }
    if (!has_ended(walk)) return std::nullopt;
    return of_all ? walk.last() : walk.cursors[compute_stream].date;
  }

  void follow(const std::vector<Task>& tasks, Walk& walk, Walk::Cursor& cursor) {
    for (; cursor.task < tasks.size(); ++cursor.task) {
      if (const auto* join = std::get_if<Join>(&tasks[cursor.task]))
        cursor.date += times_(join->collective).si();
      else if (std::holds_alternative<RunSegment>(tasks[cursor.task]) ||
               !passes(tasks[cursor.task], walk, cursor))
        return;
    }
  }

  const TaskGraph& graph_;
  AloneTimes times_;
  std::vector<int> ranks_;  ///< by program
  std::vector<Walk> walks_ = {};
  std::vector<Meeting> meetings_;  ///< by collective
  std::vector<double> alone_;      ///< by undisturbed segment: its time, once it is known
  std::vector<Place> ready_ = {};
};

/// Decides whether the tasks of a graph have fixed times.
class FixedTimes {
public:
  FixedTimes(const TaskGraph& graph, SlowedBy slowed_by)
      : graph_(graph), slowed_by_(slowed_by), users_(graph.collectives.size(), nobody) {}

  /// Each collective of a segment that is written out is of the ranks of one program, each program joins a
  /// collective on one stream only, and nothing slows a kernel or keeps a collective from beginning.
  [[nodiscard]] bool are_all() {
    if (!graph_.link_events.empty() || !graph_.job_of_rank.empty()) return false;
    std::vector<int> ranks(graph_.programs.size());
    for (const int program : graph_.program_of_rank) ++ranks[at(program)];
    for (std::size_t i = 0; i < graph_.programs.size(); ++i) {
      if (!are_of(graph_.programs[i], static_cast<int>(i), ranks[i])) return false;
    }
    for (const Segment& segment : graph_.segments) add_uses(segment.program);
    return slowed_by_ == SlowedBy::nothing || (!has_use_beside_ && !(has_persistent_ && has_joins_beside_));
  }

private:
  static constexpr std::pair<int, std::size_t> nobody{-1, 0};

  bool are_of(const Program& program, int number, int ranks) {
    add_uses(program);
    for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
      for (const Task& task : program.streams[stream]) {
        if (const auto* join = std::get_if<Join>(&task)) {
          std::pair<int, std::size_t>& user = users_[at(join->collective)];
          if (user.first == number && user.second != stream) return false;
          user = {number, stream};
        }
        if (const auto* run = std::get_if<RunSegment>(&task)) {
          if (!is_local(graph_.segments[at(run->segment)], ranks)) return false;
        }
      }
    }
    return true;
  }

  /// Whether LongestPath::end_of() may follow a segment: its collectives are of this rank's program, its
  /// other streams begin by waiting for the compute stream, and each event happens once.
  [[nodiscard]] bool is_local(const Segment& segment, int ranks) const {
    if (segment.is_undisturbed) return true;
    std::set<int> happened;
    for (std::size_t stream = 0; stream < segment.program.streams.size(); ++stream) {
      const std::vector<Task>& tasks = segment.program.streams[stream];
      if (stream != compute_stream && !tasks.empty() && !std::holds_alternative<Wait>(tasks.front()))
        return false;
      for (const Task& task : tasks) {
        const auto* join = std::get_if<Join>(&task);
        if (join != nullptr && graph_.collectives[at(join->collective)].participants != ranks) return false;
        const auto* record = std::get_if<Record>(&task);
        if (record != nullptr && !happened.insert(record->event).second) return false;
      }
    }
    return true;
  }

  void add_uses(const Program& program) {
    if (slowed_by_ == SlowedBy::nothing) return;
    for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
      for (const Task& task : program.streams[stream]) {
        const auto* compute = std::get_if<Compute>(&task);
        if (compute != nullptr && compute->use.persistent) has_persistent_ = true;
        if (stream == compute_stream) continue;
        if (compute != nullptr) has_use_beside_ = true;
        const auto* join = std::get_if<Join>(&task);
        if (join == nullptr) continue;
        has_joins_beside_ = true;
        const GpuUse use = use_of(*join, slowed_by_);
        if (use.sms > 0 || use.memory > 0) has_use_beside_ = true;
      }
    }
  }

  const TaskGraph& graph_;
  SlowedBy slowed_by_;
  std::vector<std::pair<int, std::size_t>>
      users_;                      ///< by collective: the last program that joins, its stream
  bool has_persistent_ = false;    ///< kernels for which collectives wait
  bool has_joins_beside_ = false;  ///< on other streams than compute
  bool has_use_beside_ = false;    ///< of the GPU, on other streams than compute
};

}  // namespace

std::optional<Seconds> fixed_makespan(const TaskGraph& graph, const StepVariant& variant) {
  if (!FixedTimes(graph, variant.slowed_by).are_all()) return std::nullopt;
  return LongestPath(graph, variant).makespan();
}

}  // namespace engine

Seconds closed_makespan(const TaskGraph& graph, const StepVariant& variant) {
  const bool has_times =
      variant.collectives.empty() || variant.collectives.size() == graph.collectives.size();
  if (has_times) {
    if (const std::optional<Seconds> fixed = engine::fixed_makespan(graph, variant)) return *fixed;
  }
  return run(graph, {.fidelity = Fidelity::closed, .variant = variant, .recorded = {}}).makespan;
}

}  // namespace trainyard
