#pragma once
// The programs of a graph as they are replayed: an undisturbed segment is one task that takes as long as the
// segment alone, any other is written out.

#include "engine/engine.hpp"
#include "schedule/task_graph.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace trainyard::engine {

/// A task as it is replayed. The graph stores it: a step may run millions of tasks from a few segments.
struct FlatTask {
  const Task* task;
  int first_event;  ///< added to the number of the task's event
  int in_graph;  ///< index of the graph's task that it belongs to; -1: in a segment, on another stream than
                 ///< compute
};

/// The tasks of a stream: those of the graph's program, or a list with segments written out.
class FlatStream {
public:
  FlatStream() = default;
  explicit FlatStream(std::span<const Task> whole) : whole_(whole) {}

  [[nodiscard]] std::size_t size() const { return whole_.size() + written_.size(); }
  [[nodiscard]] FlatTask operator[](std::size_t i) const {
    return written_.empty() ? FlatTask{&whole_[i], 0, static_cast<int>(i)} : written_[i];
  }
  void reserve(std::size_t tasks) { written_.reserve(tasks); }
  void push_back(const FlatTask& task) { written_.push_back(task); }

private:
  std::span<const Task> whole_;  ///< empty if tasks are written out
  std::vector<FlatTask> written_;
};

/// All tasks of a rank.
struct FlatProgram {
  std::vector<FlatStream> streams;
  int events = 0;
};

class FlatPrograms {
public:
  /// Keeps a reference to the graph. Without `fold` every segment is written out.
  FlatPrograms(const TaskGraph& graph, bool fold, const StepVariant& variant);

  /// The tasks to replay: those of the graph, with some of its segments written out.
  [[nodiscard]] const FlatProgram& of(int program) const { return flat_[at(program)]; }

  /// An undisturbed segment as one task.
  [[nodiscard]] const Compute& as_task(const RunSegment& run) const { return alone_[at(run.segment)]->task; }

  /// Busy times of the streams during a task of the compute stream that took `taken`. A delay of a segment
  /// counts as a delay of its kernels.
  [[nodiscard]] RankSpan busy_in(const Compute& task, Seconds taken) const;

  /// Adds to the outcome of the replay the tasks, collectives and bytes of segments that were replayed as one
  /// task. `first_start`: by segment, the date of its first run; -1 where it is unknown.
  void restore(Timeline& timeline, std::span<const double> first_start) const;

private:
  /// An undisturbed segment, replayed alone.
  struct Alone {
    Compute task;
    RankSpan busy;
    std::vector<int> collectives;       ///< of the graph
    std::vector<CollectiveSpan> spans;  ///< of the collectives, from the segment's beginning
    std::vector<TaskSpan> tasks;
  };

  [[nodiscard]] bool has_disturbed_segment(const Program& program) const;
  [[nodiscard]] FlatProgram flattened(const Program& program) const;
  /// Makes room for all tasks: there may be millions, and a growing list takes twice the memory.
  void reserve(const Program& program, FlatProgram& flat) const;
  static void write_out(const Segment& segment, int origin, FlatProgram& flat);
  void add_collectives(Timeline& timeline, std::span<const double> first_start) const;

  const TaskGraph& graph_;
  std::vector<FlatProgram> flat_;            ///< by program
  std::vector<std::optional<Alone>> alone_;  ///< by segment
};

}  // namespace trainyard::engine
