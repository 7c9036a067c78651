#include "engine/replay.hpp"

#include "config/diagnostic.hpp"
#include "engine/link_faults.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace trainyard::engine {

namespace {

/// Whether work on two streams shares the GPU.
bool share_gpu(int stream, int other) { return stream != other && is_on_gpu(stream) && is_on_gpu(other); }

}  // namespace

Replay::Replay(const TaskGraph& graph, const EngineOptions& options, Calendar& calendar)
    : graph_(graph),
      slowed_by_(options.variant.slowed_by),
      programs_(graph, options.fold && options.fidelity != Fidelity::messages, options.variant),
      calendar_(calendar),
      rendezvous_(graph.collectives.size()),
      recorded_(options.recorded),
      segment_start_(graph.segments.size(), -1) {
  // Ranks that run the same program start together, meet in the same collectives and leave them together: by
  // induction they do everything at the same dates. This does not hold message by message (steps), where each
  // rank leaves at its own date.
  const bool fold = options.fold && options.fidelity != Fidelity::messages;
  std::map<std::pair<int, int>, int> first_alike;  // key: job and program
  std::pair last{-1, -1};
  state_of_rank_.reserve(at(graph.ranks()));
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    const std::pair kind{job_of(rank), graph.program_of_rank[at(rank)]};
    const auto next = static_cast<int>(ranks_.size());
    int same = next;
    if (fold) same = kind == last ? state_of_rank_.back() : first_alike.try_emplace(kind, next).first->second;
    last = kind;
    state_of_rank_.push_back(same);
    if (same == next) ranks_.push_back({.rank = rank, .program = &programs_.of(kind.second)});
    ++ranks_[at(same)].weight;
    if (same != next) continue;
    if (kind.first >= static_cast<int>(jobs_.size())) jobs_.resize(at(kind.first + 1));
    jobs_[at(kind.first)].simulated.push_back(rank);
    state(rank).cursors.resize(program(rank).streams.size());
    state(rank).happened.assign(at(program(rank).events), false);
  }
  for (const Rank rank : recorded_) state(index(rank)).recorded = true;
}

const Task& Replay::task_of(int rank, int stream) const {
  const RankState& rank_state = state(rank);
  return *rank_state.program->streams[at(stream)][at(rank_state.cursors[at(stream)].task)].task;
}

void Replay::begin(CollectiveExecutor& executor) {
  executor_ = &executor;
  for (Job& job : jobs_) {
    for (const int rank : job.simulated) {
      job.open_streams += stream_number(rank);
      for (int stream = 0; stream < stream_number(rank); ++stream) wake_at(rank, stream, 0);
    }
  }
}

void Replay::wake_at(int rank, int stream, double date) {
  state(rank).cursors[at(stream)].due = date;
  calendar_.enter(date, EventKind::wake, rank, stream);
}

/// Wakes at the end of the stream's running kernel, which is unknown while it waits for multiprocessors.
void Replay::wake_at_end(int rank, int stream) {
  Cursor& cursor = state(rank).cursors[at(stream)];
  if (cursor.kernel->waits())
    cursor.due = -1;
  else
    wake_at(rank, stream, cursor.kernel->end());
}

void Replay::wake(int rank, int stream, double date) {
  Cursor& cursor = state(rank).cursors[at(stream)];
  if (done() || cursor.due != date) return;
  cursor.due = -1;
  if (cursor.kernel) end_kernel(rank, stream, date);
  advance(rank, stream, date);
}

void Replay::advance(int rank, int stream, double date) {
  if (job_of(rank) == 0) {
    last_date_ = std::max(last_date_, date);
    idle_repeats_ = 0;
  }
  walk(rank, stream, date);
  // After walk(), which decides which work this stream does from now on.
  settle_other_streams(rank, stream, date);
}

/// Goes as far as possible at this date.
void Replay::walk(int rank, int stream, double date) {
  RankState& rank_state = state(rank);
  Cursor& cursor = rank_state.cursors[at(stream)];
  const FlatStream& tasks = program(rank).streams[at(stream)];
  while (cursor.task < static_cast<int>(tasks.size())) {
    const FlatTask next = tasks[at(cursor.task)];
    const Task& task = *next.task;
    if (const auto* compute = std::get_if<Compute>(&task)) {
      begin_kernel(rank, stream, *compute, date);
      return;
    }
    if (const auto* run = std::get_if<RunSegment>(&task)) {
      begin_kernel(rank, stream, programs_.as_task(*run), date);
      return;
    }
    if (const auto* rendezvous = std::get_if<Join>(&task)) {
      const double free = multiprocessors_free(rank, stream);
      cursor.awaits_multiprocessors = free > date;
      if (cursor.awaits_multiprocessors) {
        wake_at(rank, stream, free);
        return;
      }
      join(rank, stream, rendezvous->collective, date);
      return;
    }
    if (const auto* wait = std::get_if<Wait>(&task)) {
      const int event = next.first_event + wait->event;
      if (!rank_state.happened[at(event)]) {
        cursor.waiting_for = event;
        return;
      }
      ++cursor.task;
      continue;
    }
    ++cursor.task;
    record(rank, next.first_event + std::get<Record>(task).event, date);
  }
  if (!jobs_[at(job_of(rank))].repeats) rank_state.span.end = std::max(rank_state.span.end, Seconds{date});
  end_stream(rank, date);
}

void Replay::begin_kernel(int rank, int stream, const Compute& what, double date) {
  if (what.segment >= 0 && segment_start_[at(what.segment)] < 0) segment_start_[at(what.segment)] = date;
  state(rank).cursors[at(stream)].kernel.emplace(what, use_of(what, slowed_by_),
                                                 taken_beside(rank, stream, true), date);
  wake_at_end(rank, stream);
}

void Replay::end_kernel(int rank, int stream, double date) {
  RankState& rank_state = state(rank);
  Cursor& cursor = rank_state.cursors[at(stream)];
  if (!jobs_[at(job_of(rank))].repeats) {
    const Seconds taken = cursor.kernel->taken();
    const RankSpan busy = programs_.busy_in(cursor.kernel->what(), taken);
    if (stream == static_cast<int>(Stream::compute)) {
      rank_state.span.compute += busy.compute;
      rank_state.span.communication += busy.communication;
    }
    if (stream == static_cast<int>(Stream::communication)) rank_state.span.communication += taken;
    if (rank_state.recorded) {
      add_span({Rank{rank}, static_cast<Stream>(stream), cursor.task, Seconds{cursor.kernel->launched()},
                Seconds{date}, Seconds{}, busy.compute});
    }
  }
  cursor.kernel.reset();
  ++cursor.task;
}

/// Adapts the pace of the stream's running kernel, if any, to the load of the other streams.
void Replay::settle_pace(int rank, int stream, double date) {
  Cursor& cursor = state(rank).cursors[at(stream)];
  if (!is_on_gpu(stream) || !cursor.kernel) return;
  if (cursor.kernel->run_beside(taken_beside(rank, stream, false), date)) wake_at_end(rank, stream);
}

/// Adapts the pace of all kernels that overlap with a stream.
void Replay::settle_other_streams(int rank, int stream, double date) {
  if (slowed_by_ == SlowedBy::nothing) return;
  for (int other = 0; other < stream_number(rank); ++other) {
    if (share_gpu(stream, other)) settle_pace(rank, other, date);
  }
}

/// The share of the GPU used by a stream. A collective's blocks hold their multiprocessors while they wait
/// for late ranks; memory traffic begins when all ranks have arrived.
GpuUse Replay::taken_by(int rank, int stream) const {
  const Cursor& cursor = state(rank).cursors[at(stream)];
  if (cursor.kernel) return cursor.kernel->use();
  if (cursor.joined_at < 0) return {};
  const Join& join = std::get<Join>(task_of(rank, stream));
  const GpuUse use = use_of(join, slowed_by_);
  return is_complete(join.collective) ? use : GpuUse{.sms = use.sms, .memory = 0};
}

/// The share of the GPU that a kernel on this stream does not get. At its launch, a collective that waits for
/// multiprocessors counts: it gets them first.
GpuUse Replay::taken_beside(int rank, int stream, bool is_launch) const {
  GpuUse sum;
  if (slowed_by_ == SlowedBy::nothing) return sum;
  for (int other = 0; other < stream_number(rank); ++other) {
    if (!share_gpu(stream, other)) continue;
    GpuUse taken = taken_by(rank, other);
    const Cursor& cursor = state(rank).cursors[at(other)];
    if (is_launch && cursor.awaits_multiprocessors)
      taken.sms = use_of(std::get<Join>(task_of(rank, other)), slowed_by_).sms;
    sum.sms = std::min(1.0, sum.sms + taken.sms);
    sum.memory = std::min(1.0, sum.memory + taken.memory);
  }
  return sum;
}

/// The date from which a stream's collective finds free multiprocessors: the end of the persistent kernels
/// that run on other streams.
double Replay::multiprocessors_free(int rank, int stream) const {
  double date = 0;
  for (int other = 0; other < stream_number(rank); ++other) {
    const auto& kernel = state(rank).cursors[at(other)].kernel;
    if (share_gpu(stream, other) && kernel && kernel->use().persistent && !kernel->waits())
      date = std::max(date, kernel->end());
  }
  return date;
}

void Replay::join(int rank, int stream, int collective, double date) {
  state(rank).cursors[at(stream)].joined_at = date;
  // A collective that a step repeats: its next round begins once all have left this one. Message by message,
  // a group may be ahead of the others by a round.
  Rendezvous& rendezvous = rendezvous_[at(collective)];
  const bool was_here = graph_.collectives[at(collective)].rounds > 1 &&
                        std::ranges::find(rendezvous.members, rank) != rendezvous.members.end();
  if (was_here || is_complete(collective))
    rendezvous.early.push_back(rank);
  else
    enter(rank, collective, date);
}

void Replay::enter(int rank, int collective, double date) {
  Rendezvous& rendezvous = rendezvous_[at(collective)];
  if (rendezvous.arrived == 0 && !rendezvous.has_span) rendezvous.span.first_arrival = Seconds{date};
  rendezvous.arrived += state(rank).weight;
  rendezvous.members.push_back(rank);
  ++rendezvous.inside;
  const bool all_there = is_complete(collective);
  if (all_there) rendezvous.started = date;
  if (all_there && !rendezvous.has_span) rendezvous.span.start = Seconds{date};
  if (all_there) {
    for (const int member : rendezvous.members) {
      for (int other = 0; other < stream_number(member); ++other) settle_pace(member, other, date);
    }
  }
  executor_->arrive(collective, rank, date);
  if (all_there) executor_->start(collective, date);
}

void Replay::record(int rank, int event, double date) {
  RankState& rank_state = state(rank);
  rank_state.happened[at(event)] = true;
  for (int other = 0; other < stream_number(rank); ++other) {
    Cursor& waiter = rank_state.cursors[at(other)];
    if (waiter.waiting_for != event) continue;
    waiter.waiting_for = -1;
    ++waiter.task;
    // Through the calendar, not by recursion: events at the same date keep the program's order.
    wake_at(rank, other, date);
  }
}

void Replay::end_stream(int rank, double date) {
  Job& job = jobs_[at(job_of(rank))];
  if (--job.open_streams == 0 && job_of(rank) != 0 && !done()) repeat(job, date);
}

void Replay::repeat(Job& job, double date) {
  if (date <= job.begun)
    throw InputError("a repeating job takes no time", "give it ops or collectives that take time");
  // The other jobs repeat for ever if job 0 waits for ever, and for very long if job 0 is very slow.
  constexpr long look_after = 100'000;
  constexpr long give_up_after = 20'000'000;
  if (++idle_repeats_ % look_after == 0) check_failed_links(graph_, *this);
  if (idle_repeats_ == give_up_after) {
    throw JobImpossible(fmt::format(
        "the job has made no progress for {} s, while the other jobs on its network repeated {} times; {}",
        date - last_date_, give_up_after, who_waits()));
  }
  job.begun = date;
  job.repeats = true;
  for (const int rank : job.simulated) {
    RankState& rank_state = state(rank);
    rank_state.happened.assign(rank_state.happened.size(), false);
    job.open_streams += stream_number(rank);
    for (int stream = 0; stream < stream_number(rank); ++stream) {
      rank_state.cursors[at(stream)] = {};
      wake_at(rank, stream, date);
    }
  }
}

void Replay::leave(int collective, int rank, double date) {
  if (done()) return;
  Rendezvous& rendezvous = rendezvous_[at(collective)];
  RankState& rank_state = state(rank);
  if (!rendezvous.has_span) rendezvous.span.end = std::max(rendezvous.span.end, Seconds{date});
  // The last rank to leave resets the rendezvous for the next round of a repeating job.
  --rendezvous.inside;
  if (rendezvous.inside == 0 && is_complete(collective)) end_round(collective, date);
  for (int stream = 0; stream < stream_number(rank); ++stream) {
    Cursor& cursor = rank_state.cursors[at(stream)];
    if (cursor.joined_at < 0) continue;
    const auto* join = std::get_if<Join>(&task_of(rank, stream));
    if (join == nullptr || join->collective != collective) continue;
    if (!jobs_[at(job_of(rank))].repeats) {
      // Waiting for late ranks is not communication.
      const double begun = std::max(cursor.joined_at, rendezvous.started);
      rank_state.span.communication += Seconds{std::max(0.0, date - begun)};
      if (rank_state.recorded) {
        add_span({Rank{rank}, static_cast<Stream>(stream), cursor.task, Seconds{cursor.joined_at},
                  Seconds{date}, Seconds{begun}});
      }
    }
    cursor.joined_at = -1;
    ++cursor.task;
    advance(rank, stream, date);
    return;
  }
}

/// The rendezvous becomes free for the next round, for which some may have arrived already.
void Replay::end_round(int collective, double date) {
  Rendezvous& rendezvous = rendezvous_[at(collective)];
  rendezvous.arrived = 0;
  rendezvous.members.clear();
  rendezvous.has_span = true;
  const std::vector<int> early = std::exchange(rendezvous.early, {});
  for (const int rank : early) enter(rank, collective, date);
}

void Replay::leave_all(int collective, double date) {
  const std::vector<int> members = rendezvous_[at(collective)].members;
  for (const int rank : members) leave(collective, rank, date);
}

}  // namespace trainyard::engine
