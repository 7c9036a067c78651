#pragma once
// Walks every rank through its program: one cursor per rank and stream, events between streams, arrivals at
// collectives, kernels that slow each other down. A CollectiveExecutor carries out the collectives.

#include "engine/calendar.hpp"
#include "engine/engine.hpp"
#include "engine/flat_programs.hpp"
#include "engine/running_kernel.hpp"

#include <optional>
#include <vector>

namespace trainyard::engine {

/// Carries out collectives once ranks arrive; tells the Replay when a rank may go on.
class CollectiveExecutor {
public:
  virtual ~CollectiveExecutor() = default;
  /// `rank` has arrived at the collective at `date`. Called once for each simulated rank.
  virtual void arrive(int collective, int rank, double date) = 0;
  /// All ranks have arrived. Called after the last arrive().
  virtual void start(int collective, double date) = 0;
};

class Replay {
public:
  Replay(const TaskGraph& graph, const EngineOptions& options, Calendar& calendar);

  /// Enters the start of every rank at date 0 into the calendar.
  void begin(CollectiveExecutor& executor);
  /// Continues a rank's stream, unless its wake has been moved to another date.
  void wake(int rank, int stream, double date);
  /// `rank` leaves its collective; the last rank to leave ends it.
  void leave(int collective, int rank, double date);
  /// All ranks leave at once.
  void leave_all(int collective, double date);

  /// Job 0 has ended: nothing new starts, and wake() and leave() do nothing.
  [[nodiscard]] bool done() const { return jobs_[0].open_streams == 0; }
  /// Collectives of job 0 in which ranks wait, in ascending order.
  [[nodiscard]] std::vector<int> waiting_collectives() const;
  /// The waiting streams of job 0: how many there are, and one line for each of the first eight. Empty if
  /// none.
  [[nodiscard]] std::string who_waits() const;

  /// The recorded timeline, with these bytes on its links; throws EngineError naming the waiting streams if a
  /// program of job 0 has not ended.
  Timeline finish(LinkValues<double> link_bytes);

private:
  struct Cursor {
    int task = 0;
    int waiting_for = -1;                 ///< event, if blocked in a Wait
    double joined_at = -1;                ///< date, if blocked in a Join
    bool awaits_multiprocessors = false;  ///< a Join that a persistent kernel holds up
    double due = -1;  ///< date of the valid wake; other wakes in the calendar are ignored; -1: none
    std::optional<RunningKernel> kernel;
    int span = -1;  ///< in `spans_`: the last one of this stream; -1: none yet
  };
  struct RankState {
    int rank = 0;
    const FlatProgram* program = nullptr;
    int weight = 0;                    ///< number of identical ranks that this one stands for
    std::vector<Cursor> cursors = {};  ///< by stream
    std::vector<bool> happened = {};
    RankSpan span = {};
    bool recorded = false;
  };
  struct Rendezvous {
    int arrived = 0;
    int inside = 0;            ///< members that have not left yet
    std::vector<int> members;  ///< simulated ranks that have arrived
    std::vector<int> early;    ///< members that have arrived for the next round while others are inside
    double started = 0;        ///< when the last member of this round arrived
    CollectiveSpan span;
    bool has_span = false;  ///< the span is complete; further rounds leave it as it is
  };
  struct Job {
    std::vector<int> simulated;
    int open_streams = 0;  ///< streams that have not ended
    double begun = 0;
    bool repeats = false;
  };

  [[nodiscard]] RankState& state(int rank) { return ranks_[at(state_of_rank_[at(rank)])]; }
  [[nodiscard]] const RankState& state(int rank) const { return ranks_[at(state_of_rank_[at(rank)])]; }
  void wake_at(int rank, int stream, double date);
  void wake_at_end(int rank, int stream);
  void advance(int rank, int stream, double date);
  void walk(int rank, int stream, double date);
  void begin_kernel(int rank, int stream, const Compute& what, double date);
  void end_kernel(int rank, int stream, double date);
  void settle_pace(int rank, int stream, double date);
  void settle_other_streams(int rank, int stream, double date);
  [[nodiscard]] GpuUse taken_by(int rank, int stream) const;
  [[nodiscard]] GpuUse taken_beside(int rank, int stream, bool is_launch) const;
  [[nodiscard]] double multiprocessors_free(int rank, int stream) const;
  [[nodiscard]] bool is_complete(int collective) const {
    return rendezvous_[at(collective)].arrived == graph_.collectives[at(collective)].participants;
  }
  void join(int rank, int stream, int collective, double date);
  void enter(int rank, int collective, double date);
  void end_round(int collective, double date);
  [[nodiscard]] int stream_number(int rank) const { return static_cast<int>(state(rank).cursors.size()); }
  void record(int rank, int event, double date);
  void add_span(TaskSpan span);
  void end_stream(int rank, double date);
  void repeat(Job& job, double date);
  [[nodiscard]] const FlatProgram& program(int rank) const { return *state(rank).program; }
  /// The task at which the stream's cursor stands.
  [[nodiscard]] const Task& task_of(int rank, int stream) const;
  [[nodiscard]] int job_of(int rank) const {
    return graph_.job_of_rank.empty() ? 0 : graph_.job_of_rank[at(rank)];
  }

  const TaskGraph& graph_;
  SlowedBy slowed_by_;
  FlatPrograms programs_;
  Calendar& calendar_;
  CollectiveExecutor* executor_ = nullptr;
  std::vector<RankState> ranks_;    ///< those that are simulated
  std::vector<int> state_of_rank_;  ///< by rank: the index of the one simulated in its place
  std::vector<Job> jobs_{1};
  std::vector<Rendezvous> rendezvous_;
  std::vector<TaskSpan> spans_;  ///< of the graph's tasks; a segment that is written out has one span
  std::vector<Rank> recorded_;
  std::vector<double> segment_start_;  ///< by segment: of its first run; -1: none yet
  double last_date_ = 0;
  long idle_repeats_ = 0;  ///< rounds of other jobs since job 0 last advanced
};

}  // namespace trainyard::engine
