#pragma once
// The programs of a graph as they are replayed: an undisturbed segment is one task that takes as long as the
// segment alone, any other is written out.

#include "engine/engine.hpp"
#include "schedule/task_graph.hpp"

#include <optional>
#include <span>
#include <vector>

namespace trainyard::engine {

/// A task as it is replayed, at home in the graph: a step may run millions of them out of few segments.
struct FlatTask {
  const Task* task;
  int first_event;  ///< to be added to the number of its event
  int in_graph;  ///< index of the task of which it is a part; -1: in a segment and not on the compute stream
};

struct FlatProgram {
  std::vector<std::vector<FlatTask>> streams;
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

  /// Busy times of the streams during a task of the compute stream that took `taken`. What a segment takes
  /// longer than alone, its kernels do.
  [[nodiscard]] RankSpan busy_in(const Compute& task, Seconds taken) const;

  /// Adds to the outcome of the replay the tasks, collectives and bytes of segments that were replayed as one
  /// task. `first_start`: by segment, the date of its first run;
  /// -1 where it is unknown.
  void restore(Timeline& timeline, std::span<const double> first_start) const;

private:
  /// An undisturbed segment, replayed alone.
  struct Alone {
    Compute task;
    RankSpan busy;
    std::vector<int> collectives;       ///< of the graph
    std::vector<CollectiveSpan> spans;  ///< of these, from the segment's beginning
    std::vector<TaskSpan> tasks;
  };

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
