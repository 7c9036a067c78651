#include "engine/replay.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace trainyard::engine {

namespace {

constexpr std::string_view stream_names[stream_count] = {"compute", "communication", "host"};

}  // namespace

Replay::Replay(const TaskGraph& graph, const EngineOptions& options, Calendar& calendar)
    : graph_(graph),
      calendar_(calendar),
      ranks_(at(graph.ranks())),
      stands_in_(at(graph.ranks())),
      meetings_(graph.collectives.size()),
      recorded_(options.recorded) {
  // Ranks that run one program start together, meet in the same collectives and leave them together: by
  // induction they do everything at the same dates. Messages (steps) break this: there each rank leaves at
  // its own date.
  const bool fold = options.fold && options.fidelity != Fidelity::steps;
  std::map<int, int> first_with_program;
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    const int same =
        fold ? first_with_program.try_emplace(graph.program_of_rank[at(rank)], rank).first->second : rank;
    stands_in_[at(rank)] = same;
    ++ranks_[at(same)].weight;
    if (same == rank) simulated_.push_back(rank);
  }
  for (const int rank : simulated_) ranks_[at(rank)].happened.assign(at(program(rank).events), false);
  for (const Rank rank : recorded_) ranks_[at(stands_in_[at(index(rank))])].recorded = true;
}

const Program& Replay::program(int rank) const {
  return graph_.programs[at(graph_.program_of_rank[at(rank)])];
}

void Replay::begin(Carrier& carrier) {
  carrier_ = &carrier;
  for (const int rank : simulated_) {
    for (int stream = 0; stream < stream_count; ++stream) calendar_.enter(0, rank, stream);
  }
}

void Replay::wake(int rank, int stream, double date) { advance(rank, stream, date); }

void Replay::advance(int rank, int stream, double date) {
  RankState& state = ranks_[at(rank)];
  Cursor& cursor = state.cursors[stream];
  const std::vector<Task>& tasks = program(rank).streams[stream];
  last_date_ = std::max(last_date_, date);
  while (cursor.task < static_cast<int>(tasks.size())) {
    const Task& task = tasks[at(cursor.task)];
    if (const auto* compute = std::get_if<Compute>(&task)) {
      const double end = date + compute->duration.si();
      if (stream == static_cast<int>(Stream::compute)) state.span.compute += compute->duration;
      if (stream == static_cast<int>(Stream::communication)) state.span.communication += compute->duration;
      if (state.recorded) {
        spans_.push_back({Rank{rank}, static_cast<Stream>(stream), cursor.task, Seconds{date}, Seconds{end}});
      }
      ++cursor.task;
      calendar_.enter(end, rank, stream);
      return;
    }
    if (const auto* join = std::get_if<Join>(&task)) {
      Meeting& meeting = meetings_[at(join->collective)];
      if (meeting.arrived == 0) meeting.span.first_arrival = Seconds{date};
      cursor.joined_at = date;
      meeting.arrived += state.weight;
      carrier_->arrive(join->collective, rank, date);
      if (meeting.arrived == graph_.ranks()) {
        meeting.span.start = Seconds{date};
        carrier_->start(join->collective, date);
      }
      return;
    }
    if (const auto* wait = std::get_if<Wait>(&task)) {
      if (!state.happened[at(wait->event)]) {
        cursor.waiting_for = wait->event;
        return;
      }
      ++cursor.task;
      continue;
    }
    const int event = std::get<Record>(task).event;
    state.happened[at(event)] = true;
    ++cursor.task;
    for (int other = 0; other < stream_count; ++other) {
      Cursor& waiter = state.cursors[other];
      if (waiter.waiting_for != event) continue;
      waiter.waiting_for = -1;
      ++waiter.task;
      // Through the calendar, not by recursion: the order of what happens at one date stays that of the
      // program.
      calendar_.enter(date, rank, other);
    }
  }
  state.span.end = std::max(state.span.end, Seconds{date});
}

void Replay::leave(int collective, int rank, double date) {
  Meeting& meeting = meetings_[at(collective)];
  RankState& state = ranks_[at(rank)];
  meeting.left += state.weight;
  meeting.span.end = std::max(meeting.span.end, Seconds{date});
  for (int stream = 0; stream < stream_count; ++stream) {
    Cursor& cursor = state.cursors[stream];
    if (cursor.joined_at < 0) continue;
    const auto* join = std::get_if<Join>(&program(rank).streams[stream][at(cursor.task)]);
    if (join == nullptr || join->collective != collective) continue;
    // Waiting for late ranks is not communication.
    const double begun = std::max(cursor.joined_at, meeting.span.start.si());
    state.span.communication += Seconds{std::max(0.0, date - begun)};
    if (state.recorded) {
      spans_.push_back(
          {Rank{rank}, static_cast<Stream>(stream), cursor.task, Seconds{cursor.joined_at}, Seconds{date}});
    }
    cursor.joined_at = -1;
    ++cursor.task;
    advance(rank, stream, date);
    return;
  }
}

void Replay::leave_all(int collective, double date) {
  for (const int rank : simulated_) leave(collective, rank, date);
}

Timeline Replay::finish() {
  std::string waiting;
  int stuck = 0;
  for (const int rank : simulated_) {
    for (int stream = 0; stream < stream_count; ++stream) {
      const Cursor& cursor = ranks_[at(rank)].cursors[stream];
      const std::vector<Task>& tasks = program(rank).streams[stream];
      if (cursor.task >= static_cast<int>(tasks.size())) continue;
      if (++stuck > 8) continue;
      const auto* join = std::get_if<Join>(&tasks[at(cursor.task)]);
      waiting += fmt::format("\n  rank {}, {} stream, task {}: waits for {} {}", rank, stream_names[stream],
                             cursor.task, join != nullptr ? "collective" : "event",
                             join != nullptr ? join->collective : cursor.waiting_for);
      if (join != nullptr) {
        waiting +=
            fmt::format(" ({} of {} ranks there)", meetings_[at(join->collective)].arrived, graph_.ranks());
      }
    }
  }
  if (stuck > 0) throw EngineError(fmt::format("deadlock: {} streams wait for ever{}", stuck, waiting));

  Timeline timeline;
  timeline.ranks.resize(ranks_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    timeline.ranks[rank] = ranks_[at(stands_in_[rank])].span;
  timeline.makespan = Seconds{last_date_};
  for (const Meeting& meeting : meetings_) timeline.collectives.push_back(meeting.span);
  std::sort(spans_.begin(), spans_.end(), [](const TaskSpan& a, const TaskSpan& b) {
    return std::tuple(a.rank, a.stream, a.task) < std::tuple(b.rank, b.stream, b.task);
  });
  for (const Rank rank : recorded_) {
    const Rank same{stands_in_[at(index(rank))]};
    for (TaskSpan span : spans_) {
      if (span.rank != same) continue;
      span.rank = rank;
      timeline.spans.push_back(span);
    }
  }
  timeline.events = calendar_.entered();
  return timeline;
}

}  // namespace trainyard::engine
