#include "engine/carriers.hpp"
#include "engine/simgrid_network.hpp"

#include <cmath>

namespace trainyard::engine {

namespace {

/// Every message is a flow. An edge sends its next message when its last one has arrived, and so has the one
/// it passes on; a rank leaves when all messages to and from it have arrived.
class StepsCarrier final : public Carrier, public Listener {
public:
  StepsCarrier(const TaskGraph& graph, SimgridNetwork& network, Replay& replay)
      : graph_(graph), network_(network), replay_(replay), active_(graph.collectives.size()) {
    int route = 0;
    for (const Pattern& pattern : graph.patterns) {
      Neighbours& neighbours = neighbours_.emplace_back();
      neighbours.first_route = route;
      neighbours.passed_on.resize(pattern.edges.size());
      neighbours.of_rank.resize(at(graph.ranks()));
      route += static_cast<int>(pattern.edges.size());
      for (std::size_t e = 0; e < pattern.edges.size(); ++e) {
        const Pattern::Edge& edge = pattern.edges[e];
        neighbours.of_rank[at(index(edge.from))].push_back(static_cast<int>(e));
        neighbours.of_rank[at(index(edge.to))].push_back(static_cast<int>(e));
        if (edge.previous >= 0) neighbours.passed_on[at(edge.previous)].push_back(static_cast<int>(e));
      }
    }
    link_bytes.assign(graph.links.size(), 0);
  }

  void arrive(int collective, int rank, double) override {
    Active& active = active_[at(collective)];
    if (active.has_arrived.empty()) activate(collective);
    active.has_arrived[at(rank)] = true;
    for (const int edge : neighbours_of(collective).of_rank[at(rank)]) try_send(collective, edge);
  }
  void start(int collective, double date) override {
    // Who neither sends nor receives has only met the others.
    const std::vector<int>& open_messages = active_[at(collective)].open_messages;
    for (int rank = 0; rank < graph_.ranks(); ++rank) {
      if (open_messages[at(rank)] == 0) replay_.leave(collective, rank, date);
    }
  }

  void on_event(const Event& event) override { replay_.wake(event.target, event.stream, event.date); }

  void on_delivered(std::uint64_t tag, double date) override {
    const auto collective = static_cast<int>(tag >> 32U);
    const auto e = static_cast<int>(tag & 0xffffffffU);
    const Collective& what = graph_.collectives[at(collective)];
    const Pattern& pattern = graph_.patterns[at(what.pattern)];
    for (const LinkId link : pattern.route(at(e))) link_bytes[index(link)] += what.bytes.si();
    ++active_[at(collective)].delivered[at(e)];
    try_send(collective, e);
    for (const int next : neighbours_of(collective).passed_on[at(e)]) try_send(collective, next);
    try_leave(collective, index(pattern.edges[at(e)].from), date);
    try_leave(collective, index(pattern.edges[at(e)].to), date);
  }

  std::vector<double> link_bytes;  ///< counted message by message

private:
  struct Neighbours {
    int first_route = 0;                      ///< of the pattern's edges
    std::vector<std::vector<int>> passed_on;  ///< by edge: the edges that pass its data on
    std::vector<std::vector<int>> of_rank;    ///< edges that the rank sends or receives on
  };
  struct Active {
    std::vector<bool> has_arrived;   ///< by rank
    std::vector<int> sent;           ///< by edge: messages started
    std::vector<int> delivered;      ///< by edge
    std::vector<int> open_messages;  ///< by rank: still to come, to and from it
  };

  [[nodiscard]] const Neighbours& neighbours_of(int collective) const {
    return neighbours_[at(graph_.collectives[at(collective)].pattern)];
  }

  void activate(int collective) {
    Active& active = active_[at(collective)];
    const Collective& what = graph_.collectives[at(collective)];
    const std::size_t edges = graph_.patterns[at(what.pattern)].edges.size();
    active.has_arrived.assign(at(graph_.ranks()), false);
    active.sent.assign(edges, 0);
    active.delivered.assign(edges, 0);
    for (const std::vector<int>& mine : neighbours_of(collective).of_rank) {
      active.open_messages.push_back(static_cast<int>(mine.size()) * what.rounds);
    }
  }

  void try_send(int collective, int e) {
    Active& active = active_[at(collective)];
    const Collective& what = graph_.collectives[at(collective)];
    const Pattern::Edge& edge = graph_.patterns[at(what.pattern)].edges[at(e)];
    const int round = active.sent[at(e)];
    if (round == what.rounds || active.delivered[at(e)] < round) return;
    // A receiver that has not arrived has posted no buffer.
    if (!active.has_arrived[at(index(edge.from))] || !active.has_arrived[at(index(edge.to))]) return;
    if (edge.previous >= 0 && active.delivered[at(edge.previous)] < round) return;
    ++active.sent[at(e)];
    const Seconds once = round == 0 ? what.overhead : Seconds{};
    network_.start(neighbours_of(collective).first_route + e, what.latency + once, what.bytes,
                   static_cast<std::uint64_t>(collective) << 32U | static_cast<std::uint32_t>(e));
  }

  void try_leave(int collective, int rank, double date) {
    if (--active_[at(collective)].open_messages[at(rank)] == 0) replay_.leave(collective, rank, date);
  }

  const TaskGraph& graph_;
  SimgridNetwork& network_;
  Replay& replay_;
  std::vector<Neighbours> neighbours_;  ///< by pattern
  std::vector<Active> active_;          ///< by collective
};

}  // namespace

Timeline run_steps(const TaskGraph& graph, const EngineOptions& options) {
  std::vector<Bandwidth> links = graph.links;
  std::vector<std::vector<int>> routes;
  for (const Pattern& pattern : graph.patterns) {
    for (std::size_t e = 0; e < pattern.edges.size(); ++e) {
      std::vector<int>& route = routes.emplace_back();
      for (const LinkId link : pattern.route(e)) route.push_back(static_cast<int>(index(link)));
      // What limits an edge is a link of its own.
      if (!std::isfinite(pattern.limit.si())) continue;
      route.push_back(static_cast<int>(links.size()));
      links.push_back(pattern.limit);
    }
  }
  SimgridNetwork network(links);
  for (const std::vector<int>& route : routes) network.add_route(route);
  Calendar calendar;
  Replay replay(graph, options, calendar);
  StepsCarrier carrier(graph, network, replay);
  replay.begin(carrier);
  network.run(calendar, carrier);
  Timeline timeline = replay.finish();
  timeline.events += network.flows();
  timeline.link_bytes = std::move(carrier.link_bytes);
  return timeline;
}

}  // namespace trainyard::engine
