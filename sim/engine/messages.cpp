#include "engine/messages.hpp"

#include "config/diagnostic.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace trainyard::engine {

namespace {

void require_edges(const TaskGraph& graph) {
  double messages = 0;
  bool has_sums = false;
  for (const Collective& collective : graph.collectives) {
    for (const CollectivePhase& phase : collective.phases) {
      const Pattern& pattern = graph.patterns[at(phase.pattern)];
      messages += static_cast<double>(phase.messages) * static_cast<double>(pattern.edge_count());
      has_sums = has_sums || pattern.summed_edges > 0;
    }
  }
  if (!has_sums) return;
  throw InputError(
      fmt::format("fidelity messages cannot simulate these {:.0f} messages one by one: they are too many, or "
                  "switches add them (nvls)",
                  messages),
      "use fidelity: flow or rounds");
}

}  // namespace

MessageRoutes message_routes(const TaskGraph& graph) {
  require_edges(graph);
  MessageRoutes steps{.links = graph.links.listed(), .routes = {}, .first_of_phase = {}};
  std::map<std::pair<int, Bandwidth>, int> known;
  for (const Collective& collective : graph.collectives) {
    for (const CollectivePhase& phase : collective.phases) {
      const auto [entry, is_new] =
          known.try_emplace({phase.pattern, phase.limit}, static_cast<int>(steps.routes.size()));
      steps.first_of_phase.push_back(entry->second);
      if (!is_new) continue;
      const Pattern& pattern = graph.patterns[at(phase.pattern)];
      for (std::size_t e = 0; e < pattern.edges.size(); ++e) {
        std::vector<int>& route = steps.routes.emplace_back();
        for (const LinkId link : pattern.route(e)) route.push_back(static_cast<int>(index(link)));
        if (!std::isfinite(phase.limit.si())) continue;
        route.push_back(static_cast<int>(steps.links.size()));
        steps.links.push_back(phase.limit);
      }
    }
  }
  return steps;
}

FlatLists passing_on(const Pattern& pattern) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
    for (const std::int32_t before : pattern.passed_on_by(edge))
      pairs.emplace_back(before, static_cast<int>(edge));
  }
  return {pattern.edges.size(), pairs};
}

FlatLists edges_of_ranks(const Pattern& pattern, int ranks) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
    pairs.emplace_back(index(pattern.edges[edge].from), static_cast<int>(edge));
    pairs.emplace_back(index(pattern.edges[edge].to), static_cast<int>(edge));
  }
  return {at(ranks), pairs};
}

}  // namespace trainyard::engine
