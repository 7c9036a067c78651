#include "engine/carriers.hpp"
#include "engine/link_bytes.hpp"
#include "engine/simgrid_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace trainyard::engine {

namespace {

/// Links of one capacity that every pattern uses equally often carry the same at every moment: one stands for
/// all. Exact for max-min sharing, and the solver's cost no longer grows with the cluster.
struct MergedNetwork {
  std::vector<Bandwidth> links;
  std::vector<std::vector<int>>
      routes;  ///< of each pattern: the union of its edges' links, with multiplicity
};

MergedNetwork merge_links(const TaskGraph& graph, std::span<const std::vector<LinkUse>> uses) {
  using PatternUse = std::pair<int, int>;  // pattern, times
  std::map<LinkId, std::vector<PatternUse>> patterns_of_link;
  if (uses.size() > 1) {
    for (std::size_t p = 0; p < uses.size(); ++p) {
      for (const LinkUse& use : uses[p])
        patterns_of_link[use.link].emplace_back(static_cast<int>(p), use.times);
    }
  }
  std::map<std::pair<double, std::vector<PatternUse>>, int> classes;
  MergedNetwork merged;
  merged.routes.resize(uses.size());
  const auto add = [&](LinkId link, const std::vector<PatternUse>& signature) {
    const Bandwidth capacity = graph.links[index(link)];
    const auto [entry, is_new] =
        classes.try_emplace({capacity.si(), signature}, static_cast<int>(merged.links.size()));
    if (!is_new) return;
    merged.links.push_back(capacity);
    for (const auto& [pattern, times] : signature) {
      std::vector<int>& route = merged.routes[static_cast<std::size_t>(pattern)];
      route.insert(route.end(), static_cast<std::size_t>(times), entry->second);
    }
  };
  if (uses.size() == 1) {
    for (const LinkUse& use : uses[0]) add(use.link, {{0, use.times}});
  } else {
    for (const auto& [link, signature] : patterns_of_link) add(link, signature);
  }
  // What limits every edge of a pattern limits the flow that stands for them, as a link of its own.
  for (std::size_t p = 0; p < uses.size(); ++p) {
    if (!std::isfinite(graph.patterns[p].limit.si())) continue;
    merged.routes[p].push_back(static_cast<int>(merged.links.size()));
    merged.links.push_back(graph.patterns[p].limit);
  }
  return merged;
}

class MacroCarrier final : public Carrier, public Listener {
public:
  MacroCarrier(const TaskGraph& graph, const EngineOptions& options, SimgridNetwork& network, Replay& replay)
      : graph_(graph),
        rounds_limit_(options.fidelity == Fidelity::flow ? options.flow_rounds : 0),
        network_(network),
        replay_(replay),
        rounds_done_(graph.collectives.size(), 0) {
    delivered.resize(graph.collectives.size());
  }

  void arrive(int, int, double) override {}
  void start(int collective, double) override { send(collective); }

  void on_event(const Event& event) override { replay_.wake(event.target, event.stream, event.date); }
  void on_delivered(std::uint64_t tag, double date) override {
    const auto collective = static_cast<int>(tag);
    const Collective& what = graph_.collectives[tag];
    delivered[tag] += what.bytes * (static_cast<double>(what.rounds) / flows_for(what));
    if (++rounds_done_[tag] == flows_for(what)) {
      replay_.leave_all(collective, date);
    } else {
      send(collective);
    }
  }

  std::vector<Bytes> delivered;  ///< by collective: what each edge has carried, counted flow by flow

private:
  /// How many flows carry a collective: all its rounds, or so few that each stands for several.
  [[nodiscard]] int flows_for(const Collective& collective) const {
    return rounds_limit_ > 0 ? std::min(rounds_limit_, collective.rounds) : collective.rounds;
  }

  void send(int collective) {
    const auto c = static_cast<std::size_t>(collective);
    const Collective& what = graph_.collectives[c];
    const double rounds_per_flow = static_cast<double>(what.rounds) / flows_for(what);
    const Seconds once = rounds_done_[c] == 0 ? what.overhead : Seconds{};
    network_.start(what.pattern, what.latency * rounds_per_flow + once, what.bytes * rounds_per_flow, c);
  }

  const TaskGraph& graph_;
  int rounds_limit_;  ///< 0: none
  SimgridNetwork& network_;
  Replay& replay_;
  std::vector<int> rounds_done_;
};

}  // namespace

Timeline run_macro(const TaskGraph& graph, const EngineOptions& options) {
  const std::vector<std::vector<LinkUse>> uses = uses_of_patterns(graph);
  const MergedNetwork merged = merge_links(graph, uses);
  SimgridNetwork network(merged.links);
  for (const std::vector<int>& route : merged.routes) network.add_route(route);

  Calendar calendar;
  Replay replay(graph, options, calendar);
  MacroCarrier carrier(graph, options, network, replay);
  replay.begin(carrier);
  network.run(calendar, carrier);
  Timeline timeline = replay.finish();
  timeline.events += network.flows();
  timeline.link_bytes.assign(graph.links.size(), 0);
  for (std::size_t i = 0; i < graph.collectives.size(); ++i) {
    add_link_bytes(carrier.delivered[i], uses[static_cast<std::size_t>(graph.collectives[i].pattern)],
                   timeline.link_bytes);
  }
  return timeline;
}

}  // namespace trainyard::engine
