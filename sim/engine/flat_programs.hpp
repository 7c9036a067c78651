#pragma once
// The programs of a graph as they are replayed: an undisturbed segment is one task that takes as long as the
// segment alone, any other is written out.

#include "engine/engine.hpp"
#include "schedule/task_graph.hpp"

#include <optional>
#include <span>
#include <vector>

namespace trainyard::engine {

class FlatPrograms {
public:
  /// Keeps a reference to the graph. Without `fold` every segment is written out.
  FlatPrograms(const TaskGraph& graph, bool fold, const StepVariant& variant);

  /// The tasks to replay: those of the graph, or with some of its segments written out.
  [[nodiscard]] const Program& of(int program) const {
    const std::optional<FlatProgram>& flat = flat_[at(program)];
    return flat ? flat->program : graph_.programs[at(program)];
  }

  /// An undisturbed segment as one task.
  [[nodiscard]] const Compute& as_task(const RunSegment& run) const { return alone_[at(run.segment)]->task; }

  /// Busy times of the streams during a task of the compute stream that took `taken`. What a segment takes
  /// longer than alone, its kernels do.
  [[nodiscard]] RankSpan busy_in(const Compute& task, Seconds taken) const;

  /// Turns the outcome of the replay into that of the graph: spans of its tasks, and the collectives and
  /// bytes of segments that were replayed as one task. `first_start`: by segment, the date of its first run;
  /// -1 where it is unknown.
  void restore(Timeline& timeline, std::span<const double> first_start) const;

private:
  struct FlatProgram {
    Program program;
    std::vector<std::vector<int>> task_of;  ///< by stream and written task: the graph's; -1: none of its own
  };
  /// An undisturbed segment, replayed alone.
  struct Alone {
    Compute task;
    RankSpan busy;
    std::vector<int> collectives;       ///< of the graph
    std::vector<CollectiveSpan> spans;  ///< of these, from the segment's beginning
    std::vector<TaskSpan> tasks;
  };

  [[nodiscard]] bool has_disturbed_segment(const Program& program) const;
  [[nodiscard]] FlatProgram flattened(const Program& program) const;
  /// Makes room for all tasks: there may be millions, and a growing list takes twice the memory.
  void reserve(const Program& program, FlatProgram& flat) const;
  void write_out(const Segment& segment, int origin, FlatProgram& flat) const;
  void restore_spans(Timeline& timeline) const;
  void add_collectives(Timeline& timeline, std::span<const double> first_start) const;

  const TaskGraph& graph_;
  std::vector<std::optional<FlatProgram>> flat_;  ///< by program; none if it is replayed as it is
  std::vector<std::optional<Alone>> alone_;       ///< by segment
};

}  // namespace trainyard::engine
