#include "engine/macro_flows.hpp"

#include "engine/messages.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace trainyard::engine {

namespace {

/// A group of a chunked phase's edges, which can be one flow: if such a phase shares links with others, it
/// matters that its first edges are busy long before its last.
struct EdgeGroup {
  int levels = 0;             ///< edges on the longest path through the group
  std::vector<LinkUse> uses;  ///< links of its edges
};

/// The level of each edge, from 0.
std::vector<int> levels_of(const Pattern& pattern) {
  const FlatLists next = passing_on(pattern);
  std::vector<int> level(pattern.edges.size(), 0);
  std::vector<std::size_t> waits_for;
  std::vector<int> reached;
  for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
    waits_for.push_back(pattern.passed_on_by(edge).size());
    if (waits_for.back() == 0) reached.push_back(static_cast<int>(edge));
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const int edge = reached[i];
    for (const int later : next.of(edge)) {
      level[at(later)] = std::max(level[at(later)], level[at(edge)] + 1);
      if (--waits_for[at(later)] == 0) reached.push_back(later);
    }
  }
  return level;
}

/// The edges of a pattern by level (1 + the highest level among those they pass on), cut into at most `most`
/// groups with about the same number of levels. One group with 0 levels for a pattern without edges.
std::vector<EdgeGroup> edge_groups(const Pattern& pattern, int most) {
  if (pattern.edges.empty()) return {{.levels = 0, .uses = link_uses(pattern)}};
  const std::vector<int> level = levels_of(pattern);
  const int depth = 1 + *std::max_element(level.begin(), level.end());
  const int count = std::min(most, depth);
  const auto group_of = [&](int of_level) {
    return static_cast<int>(static_cast<std::int64_t>(of_level) * count / depth);
  };
  std::vector<std::pair<int, int>> members;
  for (std::size_t edge = 0; edge < level.size(); ++edge)
    members.emplace_back(group_of(level[edge]), static_cast<int>(edge));
  const FlatLists edges(at(count), members);

  std::vector<EdgeGroup> groups(at(count));
  for (int one = 0; one < depth; ++one) ++groups[at(group_of(one))].levels;
  for (int group = 0; group < count; ++group) {
    std::vector<LinkId> links;
    for (const int edge : edges.of(group)) {
      const std::span<const LinkId> route = pattern.route(at(edge));
      links.insert(links.end(), route.begin(), route.end());
    }
    groups[at(group)].uses = link_uses(links);
  }
  return groups;
}

PhaseFlows rounds_of(const CollectivePhase& phase, int most) {
  const int count = std::min(most, phase.messages);
  const double rounds = static_cast<double>(phase.messages) / count;
  return {.groups = {{.part = -1, .route = -1, .latency = phase.latency * rounds}},
          .count = count,
          .bytes = phase.bytes * rounds};
}

/// On an idle network, the flows take as long as the messages: passing a flow from group to group takes at
/// most as long as passing a message from edge to edge, and the difference is added as latency.
PhaseFlows chunked_flows(const CollectivePhase& phase, std::span<const int> levels) {
  const auto groups = static_cast<int>(levels.size());
  PhaseFlows flows{.groups = {}, .count = 1, .bytes = {}};
  if (groups > 1) {
    flows.count = std::max(1, static_cast<int>(std::ceil(static_cast<double>(phase.messages) * (groups - 1) /
                                                         std::max(1, phase.hops - 1))));
  }
  flows.bytes = phase.bytes * (static_cast<double>(phase.messages) / flows.count);
  const Seconds filling =
      phase.bytes / phase.limit * (phase.hops - 1) - flows.bytes / phase.limit * (groups - 1);
  int all_levels = 0;
  for (const int of_group : levels) all_levels += of_group;
  for (const int of_group : levels) {
    const double share = all_levels > 0 ? static_cast<double>(of_group) / all_levels : 1;
    flows.groups.push_back(
        {.part = -1, .route = -1, .latency = (phase.latency * phase.hops + filling) * share});
  }
  return flows;
}

/// Collects the parts and routes that the phases need.
class FlowPlanner {
public:
  FlowPlanner(const TaskGraph& graph, const MacroLimits& limits) : graph_(graph), limits_(limits) {}

  MacroFlows plan() {
    for (const Collective& collective : graph_.collectives) add(collective);
    std::vector<std::span<const LinkUse>> uses;
    for (const MacroFlows::Part& part : macro_.parts) uses.emplace_back(part.uses);
    macro_.network = links_as_one(graph_, uses);
    for (std::size_t route = 0; route < macro_.routes.size(); ++route)
      finish(macro_.routes[route], pace_[route]);
    return std::move(macro_);
  }

private:
  void add(const Collective& collective) {
    std::vector<PhaseFlows>& phases = macro_.collectives.emplace_back();
    for (const CollectivePhase& phase : collective.phases) {
      if (phase.messages == 0) continue;
      const std::vector<int>& parts = parts_of(phase);
      std::vector<int> levels;
      for (const int part : parts) levels.push_back(levels_[at(part)]);
      PhaseFlows flows = phase.hops == 0 ? rounds_of(phase, most_flows(phase, collective.phases.size()))
                                         : chunked_flows(phase, levels);
      for (std::size_t g = 0; g < parts.size(); ++g) {
        flows.groups[g].part = parts[g];
        flows.groups[g].route = route_of(parts[g], phase.limit);
      }
      phases.push_back(std::move(flows));
    }
  }

  [[nodiscard]] int most_flows(const CollectivePhase& phase, std::size_t phases) const {
    return limits_.flows == 0 ? phase.messages : std::max(1, limits_.flows / static_cast<int>(phases));
  }

  /// Few enough groups that none needs more than limits_.flows_of_group flows.
  [[nodiscard]] int most_groups(const CollectivePhase& phase) const {
    if (phase.hops == 0) return 1;
    const double enough = 1 + static_cast<double>(limits_.flows_of_group) * (phase.hops - 1) / phase.messages;
    return static_cast<int>(std::min<double>(limits_.groups, enough));
  }

  const std::vector<int>& parts_of(const CollectivePhase& phase) {
    const int most = most_groups(phase);
    const auto [entry, is_new] = known_parts_.try_emplace({phase.pattern, most});
    if (!is_new) return entry->second;
    const Pattern& pattern = graph_.patterns[at(phase.pattern)];
    std::vector<EdgeGroup> groups;
    if (most > 1) {
      groups = edge_groups(with_edges(pattern), most);
    } else {
      groups.push_back({.levels = 1, .uses = link_uses(pattern)});
    }
    for (EdgeGroup& group : groups) {
      entry->second.push_back(static_cast<int>(macro_.parts.size()));
      macro_.parts.push_back({std::move(group.uses)});
      levels_.push_back(group.levels);
    }
    return entry->second;
  }

  int route_of(int part, Bandwidth limit) {
    const auto [entry, is_new] =
        known_routes_.try_emplace({part, limit}, static_cast<int>(macro_.routes.size()));
    if (is_new) {
      macro_.routes.push_back({part, {}});
      pace_.push_back(limit);
    }
    return entry->second;
  }

  void finish(MacroFlows::Route& route, Bandwidth limit) {
    route.links = macro_.network.routes[at(route.part)];
    if (!std::isfinite(limit.si())) return;
    route.links.push_back(static_cast<int>(macro_.network.links.size()));
    macro_.network.links.push_back(limit * macro_.network.units[at(route.part)]);
    macro_.network.scales.push_back(1);
  }

  const TaskGraph& graph_;
  const MacroLimits& limits_;
  MacroFlows macro_;
  std::vector<int> levels_;      ///< by part
  std::vector<Bandwidth> pace_;  ///< by route
  std::map<std::pair<int, int>, std::vector<int>> known_parts_;
  std::map<std::pair<int, Bandwidth>, int> known_routes_;
};

/// The collectives in which each stream takes part.
using StreamCollectives = std::map<std::size_t, std::set<int>>;

void add_collectives(const Program& program, StreamCollectives& by_stream) {
  for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
    for (const Task& task : program.streams[stream]) {
      if (const auto* join = std::get_if<Join>(&task)) by_stream[stream].insert(join->collective);
    }
  }
}

}  // namespace

MacroFlows macro_flows(const TaskGraph& graph, const MacroLimits& limits) {
  return FlowPlanner(graph, limits).plan();
}

bool may_disturb(const TaskGraph& graph) {
  if (!graph.link_events.empty() || !graph.job_of_rank.empty()) return true;
  for (const Program& program : graph.programs) {
    // If one stream of every participant has all collectives, no two run at the same time. A step may repeat
    // one, so that they are counted once.
    StreamCollectives by_stream;
    add_collectives(program, by_stream);
    for (const Task& task : program.of(Stream::compute)) {
      if (const auto* run = std::get_if<RunSegment>(&task))
        add_collectives(graph.segments[at(run->segment)].program, by_stream);
    }
    if (by_stream.size() > 1) return true;
    if (!by_stream.empty() && by_stream.begin()->second.size() < graph.collectives.size()) return true;
  }
  return false;
}

}  // namespace trainyard::engine
