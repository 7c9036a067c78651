#include "engine/executors.hpp"
#include "engine/link_faults.hpp"
#include "engine/messages.hpp"
#include "engine/simgrid_network.hpp"

namespace trainyard::engine {

namespace {

/// Every message is a flow. A rank begins a phase when all its messages of the previous phase have arrived.
class MessagesExecutor final : public CollectiveExecutor, public Listener {
public:
  MessagesExecutor(const TaskGraph& graph, const StepRoutes& routes, SimgridNetwork& network,
                   Calendar& calendar, Replay& replay)
      : graph_(graph),
        routes_(routes),
        network_(network),
        calendar_(calendar),
        replay_(replay),
        attendances_(graph.collectives.size()) {
    for (const Pattern& pattern : graph.patterns) {
      passing_on_.push_back(passing_on(pattern));
      edges_of_ranks_.push_back(edges_of_ranks(pattern, graph.ranks()));
    }
    for (std::size_t c = 0; c < graph.collectives.size(); ++c) {
      first_phase_.push_back(static_cast<int>(phases_.size()));
      for (const CollectivePhase& phase : graph.collectives[c].phases)
        phases_.push_back(
            {.collective = static_cast<int>(c), .what = &phase, .edges = {}, .open_messages = {}});
    }
    link_bytes.assign(graph.links.size(), 0);
  }

  void arrive(int collective, int rank, double date) override {
    Attendance& attendance = attendances_[at(collective)];
    if (attendance.members.empty()) open(collective);
    attendance.members.push_back(rank);
    ++attendance.inside;
    if (has_messages(collective, rank)) begin(collective, rank, date);
  }

  void start(int collective, double date) override {
    // Ranks that neither send nor receive only meet the others.
    const std::vector<int> members = attendances_[at(collective)].members;
    for (const int rank : members) {
      if (!has_messages(collective, rank)) begin(collective, rank, date);
    }
  }

  void on_event(const Event& event) override {
    if (is_over_) return;
    switch (event.kind) {
      case EventKind::link_change: {
        const LinkEvent& change = graph_.link_events[at(event.target)];
        network_.set_capacity(static_cast<int>(index(change.link)), change.bandwidth);
        break;
      }
      case EventKind::begin:
        enter_phase(event.target, event.item, 0, event.date);
        break;
      case EventKind::ready:
        ++phases_[at(event.target)].edges[at(event.item)].ready;
        try_send(event.target, event.item);
        break;
      default:
        replay_.wake(event.target, event.item, event.date);
    }
    look_for_the_end();
  }

  void on_delivered(std::uint64_t tag, double date) override {
    if (is_over_) return;
    const int number = phase_of(tag);
    const int edge = edge_of(tag);
    RunningPhase& phase = phases_[at(number)];
    add_bytes(number, edge, phase.what->bytes);
    ++phase.edges[at(edge)].delivered;
    const Pattern& pattern = graph_.patterns[at(phase.what->pattern)];
    try_begin(number, edge, date);
    try_send(number, edge);
    for (const int next : passing_on_[at(phase.what->pattern)].of(edge)) try_begin(number, next, date);
    one_less(number, index(pattern.edges[at(edge)].from), date);
    one_less(number, index(pattern.edges[at(edge)].to), date);
    look_for_the_end();
  }

  std::vector<double> link_bytes;  ///< counted message by message

private:
  struct EdgeProgress {
    int begun = 0;  ///< messages whose latency has begun
    int ready = 0;  ///< messages whose latency has passed
    int sent = 0;   ///< messages started
    int delivered = 0;
  };
  struct RunningPhase {
    int collective = 0;
    const CollectivePhase* what = nullptr;
    std::vector<EdgeProgress> edges;
    std::vector<int> open_messages;  ///< by rank: messages to and from it that have not arrived
  };
  struct Attendance {
    std::vector<int> members;
    std::vector<int> phase;  ///< by rank: its current phase; -1: none yet
    int inside = 0;          ///< members that have not left yet
  };

  static int phase_of(std::uint64_t tag) { return static_cast<int>(tag >> 32U); }
  static int edge_of(std::uint64_t tag) { return static_cast<int>(tag & 0xffffffffU); }

  void open(int collective) {
    attendances_[at(collective)].phase.assign(at(graph_.ranks()), -1);
    for (std::size_t s = 0; s < graph_.collectives[at(collective)].phases.size(); ++s) {
      RunningPhase& phase = phases_[at(first_phase_[at(collective)]) + s];
      const auto pattern = at(phase.what->pattern);
      phase.edges.assign(graph_.patterns[pattern].edges.size(), {});
      phase.open_messages.clear();
      for (int rank = 0; rank < graph_.ranks(); ++rank) {
        phase.open_messages.push_back(static_cast<int>(edges_of_ranks_[pattern].of(rank).size()) *
                                      phase.what->messages);
      }
    }
  }

  [[nodiscard]] bool has_messages(int collective, int rank) const {
    for (const CollectivePhase& phase : graph_.collectives[at(collective)].phases) {
      if (phase.messages > 0 && !edges_of_ranks_[at(phase.pattern)].of(rank).empty()) return true;
    }
    return false;
  }

  void begin(int collective, int rank, double date) {
    const Seconds overhead = graph_.collectives[at(collective)].overhead;
    calendar_.enter(date + overhead.si(), EventKind::begin, collective, rank);
  }

  /// The rank begins this phase, or the next one in which it sends or receives.
  void enter_phase(int collective, int rank, int s, double date) {
    const int first = first_phase_[at(collective)];
    const int end = static_cast<int>(graph_.collectives[at(collective)].phases.size());
    while (s < end && phases_[at(first + s)].open_messages[at(rank)] == 0) ++s;
    Attendance& attendance = attendances_[at(collective)];
    attendance.phase[at(rank)] = s;
    if (s == end) {
      if (--attendance.inside == 0 &&
          at(graph_.collectives[at(collective)].participants) == attendance.members.size()) {
        attendance.members.clear();
      }
      replay_.leave(collective, rank, date);
      return;
    }
    const auto pattern = at(phases_[at(first + s)].what->pattern);
    for (const int edge : edges_of_ranks_[pattern].of(rank)) try_begin(first + s, edge, date);
  }

  void one_less(int number, int rank, double date) {
    const RunningPhase& phase = phases_[at(number)];
    if (--phases_[at(number)].open_messages[at(rank)] > 0) return;
    enter_phase(phase.collective, rank, number - first_phase_[at(phase.collective)] + 1, date);
  }

  /// Whether the edge's message number `message` may begin: both ranks are in the phase, and the data to pass
  /// on has arrived.
  [[nodiscard]] bool may_begin(int number, int edge, int message, int arrived_before) const {
    const RunningPhase& phase = phases_[at(number)];
    if (message == phase.what->messages) return false;
    const Pattern& pattern = graph_.patterns[at(phase.what->pattern)];
    const std::vector<int>& phase_of_rank = attendances_[at(phase.collective)].phase;
    const int s = number - first_phase_[at(phase.collective)];
    // A receiver in an earlier phase has posted no buffer yet.
    if (phase_of_rank[at(index(pattern.edges[at(edge)].from))] != s ||
        phase_of_rank[at(index(pattern.edges[at(edge)].to))] != s) {
      return false;
    }
    for (const std::int32_t before : pattern.passed_on_by(at(edge))) {
      if (phase.edges[at(before)].delivered < arrived_before) return false;
    }
    return true;
  }

  /// Begins the latencies of all messages that may begin: in rounds, a message waits for the one before it.
  void try_begin(int number, int edge, double date) {
    RunningPhase& phase = phases_[at(number)];
    EdgeProgress& progress = phase.edges[at(edge)];
    const bool in_rounds = phase.what->hops == 0;
    while ((!in_rounds || progress.begun == progress.delivered) &&
           may_begin(number, edge, progress.begun, progress.begun + (in_rounds ? 0 : 1))) {
      ++progress.begun;
      calendar_.enter(date + phase.what->latency.si(), EventKind::ready, number, edge);
    }
  }

  /// Sends a message after its latency, once those before it have arrived.
  void try_send(int number, int edge) {
    RunningPhase& phase = phases_[at(number)];
    EdgeProgress& progress = phase.edges[at(edge)];
    if (progress.sent == progress.ready || progress.sent > progress.delivered) return;
    ++progress.sent;
    network_.start(routes_.first_of_phase[at(number)] + edge, phase.what->bytes,
                   static_cast<std::uint64_t>(number) << 32U | static_cast<std::uint32_t>(edge));
  }

  void add_bytes(int number, int edge, Bytes bytes) {
    for (const LinkId link : graph_.patterns[at(phases_[at(number)].what->pattern)].route(at(edge)))
      link_bytes[index(link)] += bytes.si();
  }

  /// Messages of other jobs that are under way when job 0 ends count with the bytes delivered by then.
  void look_for_the_end() {
    if (is_over_ || !replay_.done()) return;
    is_over_ = true;
    for (const SimgridNetwork::InFlight& flow : network_.in_flight())
      add_bytes(phase_of(flow.tag), edge_of(flow.tag), flow.delivered);
  }

  const TaskGraph& graph_;
  const StepRoutes& routes_;
  SimgridNetwork& network_;
  Calendar& calendar_;
  Replay& replay_;
  std::vector<FlatLists> passing_on_;      ///< by pattern
  std::vector<FlatLists> edges_of_ranks_;  ///< by pattern
  std::vector<int> first_phase_;           ///< by collective: index in phases_
  std::vector<RunningPhase> phases_;       ///< of all collectives
  std::vector<Attendance> attendances_;    ///< by collective
  bool is_over_ = false;
};

}  // namespace

Timeline run_steps(const TaskGraph& graph, const EngineOptions& options) {
  Calendar calendar;
  enter_link_events(graph, calendar);
  const StepRoutes routes = step_routes(graph);
  SimgridNetwork network(routes.links);
  for (const std::vector<int>& route : routes.routes) network.add_route(route);
  Replay replay(graph, options, calendar);
  MessagesExecutor executor(graph, routes, network, calendar, replay);
  replay.begin(executor);
  network.run(calendar, executor);
  check_failed_links(graph, replay);
  Timeline timeline = replay.finish();
  timeline.events += network.flows();
  timeline.link_bytes = std::move(executor.link_bytes);
  return timeline;
}

}  // namespace trainyard::engine
