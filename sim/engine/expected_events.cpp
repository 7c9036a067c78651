#include "engine/expected_events.hpp"

#include <algorithm>
#include <vector>

namespace trainyard::engine {
namespace {

/// Whether a segment is replayed on the network: an undisturbed one has a duration (flat_programs.hpp),
/// unless every message is simulated.
bool is_replayed(const Segment& segment, Fidelity fidelity) {
  return !segment.is_undisturbed || fidelity == Fidelity::messages;
}

/// Adds, for each collective, how often a program meets in it.
void add_joins(const TaskGraph& graph, const Program& program, Fidelity fidelity,
               std::vector<double>& joins) {
  for (const std::vector<Task>& stream : program.streams) {
    for (const Task& task : stream) {
      if (const auto* join = std::get_if<Join>(&task)) ++joins[at(join->collective)];
      if (const auto* run = std::get_if<RunSegment>(&task)) {
        const Segment& segment = graph.segments[at(run->segment)];
        if (is_replayed(segment, fidelity)) add_joins(graph, segment.program, fidelity, joins);
      }
    }
  }
}

/// For each collective, how often its ranks meet in it in a step.
std::vector<double> meetings(const TaskGraph& graph, Fidelity fidelity) {
  std::vector<double> most(graph.collectives.size(), 0);
  std::vector<double> joins;
  for (const Program& program : graph.programs) {
    joins.assign(most.size(), 0);
    add_joins(graph, program, fidelity, joins);
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], joins[i]);
  }
  return most;
}

/// The flows of a phase that no other collective disturbs (macro_flows.cpp). A chunked one is a single flow.
double rounds_of(const CollectivePhase& phase, Fidelity fidelity) {
  constexpr int most_joined = 16;
  if (phase.hops > 0) return std::min(phase.messages, 1);
  return fidelity == Fidelity::flow ? std::min(phase.messages, most_joined) : phase.messages;
}

}  // namespace

double expected_events(const TaskGraph& graph, Fidelity fidelity) {
  double events = 0;
  if (fidelity == Fidelity::closed) return events;
  const std::vector<double> times = meetings(graph, fidelity);
  for (std::size_t i = 0; i < graph.collectives.size(); ++i) {
    if (fidelity != Fidelity::messages) events += times[i];  // for its beginning and end
    for (const CollectivePhase& phase : graph.collectives[i].phases) {
      const auto edges = static_cast<double>(graph.patterns[at(phase.pattern)].edge_count());
      if (fidelity == Fidelity::messages) {
        events += times[i] * phase.messages * edges;
      } else {
        events += times[i] * rounds_of(phase, fidelity);
      }
    }
  }
  return events;
}

}  // namespace trainyard::engine
