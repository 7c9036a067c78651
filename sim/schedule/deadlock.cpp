#include "schedule/deadlock.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace trainyard {

namespace {

class UntimedRun {
public:
  explicit UntimedRun(const TaskGraph& graph)
      : graph_(graph), states_(graph.programs.size()), collectives_(graph.collectives.size()) {
    for (const int program : graph.program_of_rank) used_.insert(program);
    for (const int program : used_) {
      const Program& contents = graph.programs[at(program)];
      states_[at(program)].task.assign(contents.streams.size(), 0);
      states_[at(program)].happened.assign(at(contents.events), false);
      for (const std::vector<Task>& stream : contents.streams) {
        for (const Task& task : stream) {
          if (const auto* join = std::get_if<Join>(&task))
            collectives_[at(join->collective)].programs.insert(program);
        }
      }
    }
  }

  void run() {
    for (const int program : used_) advance(program);
    while (!ready_.empty()) {
      const int program = ready_.back();
      ready_.pop_back();
      advance(program);
    }
  }

  [[nodiscard]] std::vector<StuckJoin> stuck() const {
    std::vector<StuckJoin> found;
    for (const int program : used_) {
      const Program& contents = graph_.programs[at(program)];
      for (std::size_t stream = 0; stream < contents.streams.size(); ++stream) {
        const auto task = at(states_[at(program)].task[stream]);
        if (task >= contents.streams[stream].size()) continue;
        const auto* join = std::get_if<Join>(&contents.streams[stream][task]);
        if (join == nullptr) continue;
        const Meeting& meeting = collectives_[at(join->collective)];
        const auto missing = std::ranges::find_if(
            meeting.programs, [&](int other) { return !meeting.arrived.contains(other); });
        if (missing != meeting.programs.end()) found.push_back({program, join->collective, *missing});
      }
    }
    return found;
  }

private:
  struct State {
    std::vector<int> task;  ///< by stream
    std::vector<bool> happened;
  };
  struct Meeting {
    std::set<int> programs, arrived;
  };

  /// Walks the streams of a program until none gets further.
  void advance(int program) {
    const Program& contents = graph_.programs[at(program)];
    State& state = states_[at(program)];
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stream = 0; stream < contents.streams.size(); ++stream) {
        int& task = state.task[stream];
        while (at(task) < contents.streams[stream].size() &&
               passes(program, contents.streams[stream][at(task)])) {
          ++task;
          moved = true;
        }
      }
    }
  }

  bool passes(int program, const Task& task) {
    State& state = states_[at(program)];
    if (const auto* record = std::get_if<Record>(&task)) state.happened[at(record->event)] = true;
    if (const auto* wait = std::get_if<Wait>(&task)) return state.happened[at(wait->event)];
    const auto* join = std::get_if<Join>(&task);
    if (join == nullptr) return true;
    Meeting& meeting = collectives_[at(join->collective)];
    if (meeting.arrived.insert(program).second && meeting.arrived.size() == meeting.programs.size()) {
      for (const int other : meeting.programs) {
        if (other != program) ready_.push_back(other);
      }
    }
    return meeting.arrived.size() == meeting.programs.size();
  }

  const TaskGraph& graph_;
  std::set<int> used_;
  std::vector<State> states_;
  std::vector<Meeting> collectives_;
  std::vector<int> ready_;
};

}  // namespace

std::vector<StuckJoin> stuck_joins(const TaskGraph& graph) {
  UntimedRun run(graph);
  run.run();
  return run.stuck();
}

}  // namespace trainyard
