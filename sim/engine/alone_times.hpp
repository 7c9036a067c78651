#pragma once
// How long collectives take when nothing else is sent.

#include "schedule/task_graph.hpp"
#include "units/ids.hpp"

#include <vector>

namespace trainyard::engine {

/// The closed forms of a graph's collectives, each pattern looked at once, or the times that a variant gives.
/// Keeps references to both.
class AloneTimes {
public:
  AloneTimes(const TaskGraph& graph, const StepVariant& variant)
      : graph_(graph),
        given_(variant.collectives),
        rates_(graph.patterns.size(), Bandwidth(unknown)),
        times_(graph.collectives.size(), Seconds(unknown)) {}

  Seconds operator()(int collective) {
    if (!given_.empty()) return given_[at(collective)];
    Seconds& time = times_[at(collective)];
    if (time == Seconds(unknown))
      time = time_alone(graph_.collectives[at(collective)], [&](int pattern) { return rate_of(pattern); });
    return time;
  }

private:
  static constexpr double unknown = -1;

  Bandwidth rate_of(int pattern) {
    Bandwidth& rate = rates_[at(pattern)];
    if (rate == Bandwidth(unknown)) rate = lockstep_rate(uses_of(graph_.patterns[at(pattern)]), graph_.links);
    return rate;
  }

  const TaskGraph& graph_;
  const std::vector<Seconds>& given_;
  std::vector<Bandwidth> rates_;  ///< by pattern
  std::vector<Seconds> times_;    ///< by collective
};

}  // namespace trainyard::engine
