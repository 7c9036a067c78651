#pragma once
// The programs of a graph with their segments written out: an undisturbed segment becomes one task that takes
// as long as the segment alone, any other the tasks themselves.

#include "engine/engine.hpp"
#include "schedule/task_graph.hpp"

#include <optional>
#include <span>
#include <vector>

namespace trainyard::engine {

class FlatPrograms {
public:
  /// Keeps a reference to the graph. Without `fold` every segment is written out.
  FlatPrograms(const TaskGraph& graph, bool fold);

  [[nodiscard]] const Program& of(int program) const {
    return is_flat_ ? graph_.programs[at(program)] : flat_[at(program)].program;
  }

  /// Busy times of the streams during a task of the compute stream that took `taken`. What a segment takes
  /// longer than alone, its kernels do.
  [[nodiscard]] RankSpan busy_in(const Compute& task, Seconds taken) const;

  /// Turns the outcome of the flat programs into that of the graph: spans of its tasks, and the collectives
  /// and bytes of segments that were replayed as one task. `first_start`: by segment, the date of its first
  /// run; empty where it is unknown.
  void restore(Timeline& timeline, std::span<const double> first_start) const;

private:
  struct FlatProgram {
    Program program;
    std::vector<std::vector<int>> task_of;  ///< by stream and flat task: the task; -1: none of its own
  };
  /// An undisturbed segment, replayed alone.
  struct Alone {
    Compute task;
    RankSpan busy;
    std::vector<int> collectives;       ///< of the graph
    std::vector<CollectiveSpan> spans;  ///< of these, from the segment's beginning
    std::vector<TaskSpan> tasks;
  };

  void flatten(const Program& program);
  void write_out(const Segment& segment, int origin, FlatProgram& flat) const;
  void restore_spans(Timeline& timeline) const;
  void add_collectives(Timeline& timeline, std::span<const double> first_start) const;

  const TaskGraph& graph_;
  bool is_flat_ = false;  ///< there are no segments
  std::vector<FlatProgram> flat_;
  std::vector<std::optional<Alone>> alone_;  ///< by segment
};

}  // namespace trainyard::engine
