#include "engine/replay.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <utility>

namespace trainyard::engine {

std::vector<int> Replay::waiting_collectives() const {
  std::set<int> found;
  for (const int rank : jobs_[0].simulated) {
    for (int stream = 0; stream < stream_number(rank); ++stream) {
      const Cursor& cursor = state(rank).cursors[at(stream)];
      if (cursor.joined_at < 0) continue;
      found.insert(std::get<Join>(task_of(rank, stream)).collective);
    }
  }
  return {found.begin(), found.end()};
}

std::string Replay::who_waits() const {
  std::string waiting;
  int stuck = 0;
  for (const int rank : jobs_[0].simulated) {
    for (int stream = 0; stream < stream_number(rank); ++stream) {
      const Cursor& cursor = state(rank).cursors[at(stream)];
      if (cursor.task >= static_cast<int>(program(rank).streams[at(stream)].size())) continue;
      if (++stuck > 8) continue;
      const auto* join = std::get_if<Join>(&task_of(rank, stream));
      waiting += fmt::format("\n  rank {}, {} stream, task {}: waits for {} {}", rank,
                             config::name_of(static_cast<Stream>(stream)), cursor.task,
                             join != nullptr ? "collective" : "event",
                             join != nullptr ? join->collective : cursor.waiting_for);
      if (join == nullptr) continue;
      waiting += fmt::format(" ({} of {} ranks there)", rendezvous_[at(join->collective)].arrived,
                             graph_.collectives[at(join->collective)].participants);
    }
  }
  return stuck == 0 ? std::string{} : fmt::format("{} streams wait forever{}", stuck, waiting);
}

/// A segment that is written out has one span, which grows as its tasks end: there may be millions.
void Replay::add_span(TaskSpan span) {
  RankState& rank_state = state(index(span.rank));
  const auto stream = static_cast<std::size_t>(span.stream);
  span.task = rank_state.program->streams[stream][at(span.task)].in_graph;
  if (span.task < 0) return;
  Cursor& cursor = rank_state.cursors[stream];
  if (cursor.span >= 0 && spans_[at(cursor.span)].task == span.task) {
    spans_[at(cursor.span)].end = span.end;
    spans_[at(cursor.span)].busy += span.busy;
    return;
  }
  cursor.span = static_cast<int>(spans_.size());
  spans_.push_back(span);
}

Timeline Replay::finish(LinkValues<double> link_bytes) {
  if (const std::string waiting = who_waits(); !waiting.empty()) throw EngineError("deadlock: " + waiting);

  Timeline timeline;
  std::vector<RankSpan> ranks;
  for (const RankState& each : ranks_) ranks.push_back(each.span);
  timeline.makespan = Seconds{last_date_};
  for (const Rendezvous& rendezvous : rendezvous_) timeline.collectives.push_back(rendezvous.span);
  std::sort(spans_.begin(), spans_.end(), [](const TaskSpan& a, const TaskSpan& b) {
    return std::tuple(a.rank, a.stream, a.task) < std::tuple(b.rank, b.stream, b.task);
  });
  for (const Rank rank : recorded_) {
    const Rank same{state(index(rank)).rank};
    for (TaskSpan span : std::ranges::equal_range(spans_, same, {}, &TaskSpan::rank)) {
      span.rank = rank;
      timeline.spans.push_back(span);
    }
  }
  timeline.ranks = ranks_.size() == state_of_rank_.size()
                       ? RankSpans(std::move(ranks))
                       : RankSpans(std::move(ranks), std::move(state_of_rank_));
  timeline.events = calendar_.entered();
  timeline.link_bytes = std::move(link_bytes);
  programs_.restore(timeline, segment_start_);
  return timeline;
}

}  // namespace trainyard::engine
