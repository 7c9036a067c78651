#include "engine/executors.hpp"
#include "engine/flow_executor.hpp"
#include "engine/link_faults.hpp"
#include "engine/messages.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace trainyard::engine {

namespace {

/// Every message is a flow. A rank begins a phase when all its messages of the previous phase have arrived.
class MessagesExecutor final : public FlowExecutor {
public:
  MessagesExecutor(const TaskGraph& graph, const MessageRoutes& routes, ChangingNetwork& network,
                   Calendar& calendar, Replay& replay)
      : FlowExecutor(graph, network, calendar, replay),
        routes_(routes),
        link_bytes_(graph.links.size(), 0),
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
  }

  void arrive(int collective, int rank, double date) override {
    Attendance& attendance = attendances_[at(collective)];
    if (attendance.members.empty()) open(collective);
    attendance.members.push_back(rank);
    ++attendance.inside;
    if (has_messages(collective, rank) && !stands_for_groups(collective)) begin(collective, rank, date);
  }

  void start(int collective, double date) override {
    // Ranks without messages only meet the other ranks, unless these stand for their group.
    const bool is_stand_in = stands_for_groups(collective);
    const std::vector<int> members = attendances_[at(collective)].members;
    for (const int rank : members) {
      if (has_messages(collective, rank) == is_stand_in) begin(collective, rank, date);
    }
  }

  [[nodiscard]] std::vector<double> link_bytes() const override { return link_bytes_; }

private:
  struct RunningPhase {
    int collective = 0;
    const CollectivePhase* what = nullptr;
    std::vector<FlowProgress> edges;
    std::vector<int> open_messages;  ///< by rank: messages to and from it that have not arrived
  };
  struct Attendance {
    std::vector<int> members;
    std::vector<int> phase;  ///< by rank: its current phase; -1: none yet
    int inside = 0;          ///< members that have not left yet
  };

  void change_link(int event) override {
    const LinkEvent& change = graph_.link_events[at(event)];
    network_.set_capacity(static_cast<int>(index(change.link)), change.bandwidth);
  }

  void on_own_event(const Event& event) override {
    if (event.kind == EventKind::begin) {
      enter_phase(event.target, event.item, 0, event.date);
    } else {
      ++phases_[at(event.target)].edges[at(event.item)].ready;
      try_send(event.target, event.item);
    }
  }

  /// Tags: the number of the phase and its edge.
  void deliver(std::uint64_t tag, double date) override {
    const int number = high_of(tag);
    const int edge = low_of(tag);
    RunningPhase& phase = phases_[at(number)];
    add_bytes(number, edge, phase.what->bytes);
    ++phase.edges[at(edge)].delivered;
    const Pattern& pattern = graph_.patterns[at(phase.what->pattern)];
    try_begin(number, edge, date);
    try_send(number, edge);
    for (const int next : passing_on_[at(phase.what->pattern)].of(edge)) try_begin(number, next, date);
    one_less(number, index(pattern.edges[at(edge)].from), date);
    one_less(number, index(pattern.edges[at(edge)].to), date);
  }

  void count_in_flight(const ChangingNetwork::InFlight& flow) override {
    add_bytes(high_of(flow.tag), low_of(flow.tag), flow.delivered);
  }

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

  /// Whether the simulated groups stand for further groups, which take as long. False if nobody sends
  /// anything: then all ranks only meet.
  [[nodiscard]] bool stands_for_groups(int collective) const {
    const Collective& what = graph_.collectives[at(collective)];
    const auto sends = [](const CollectivePhase& phase) { return phase.messages > 0; };
    return what.group_size > 0 && what.groups * what.group_size < what.participants &&
           std::ranges::any_of(what.phases, sends);
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
      end_for(collective, rank, date);
      return;
    }
    const auto pattern = at(phases_[at(first + s)].what->pattern);
    for (const int edge : edges_of_ranks_[pattern].of(rank)) try_begin(first + s, edge, date);
  }

  /// The rank leaves; with the last rank that has messages leave the ranks for which it stands.
  void end_for(int collective, int rank, double date) {
    Attendance& attendance = attendances_[at(collective)];
    std::vector<int> leaving{rank};
    if (stands_for_groups(collective)) {
      const auto is_silent = [&](int member) { return !has_messages(collective, member); };
      const auto silent = std::ranges::count_if(attendance.members, is_silent);
      if (attendance.inside == silent + 1)
        std::ranges::copy_if(attendance.members, std::back_inserter(leaving), is_silent);
    }
    attendance.inside -= static_cast<int>(leaving.size());
    if (attendance.inside == 0 &&
        at(graph_.collectives[at(collective)].participants) == attendance.members.size())
      attendance.members.clear();
    for (const int one : leaving) replay_.leave(collective, one, date);
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
    FlowProgress& progress = phase.edges[at(edge)];
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
    FlowProgress& progress = phase.edges[at(edge)];
    if (!progress.may_send()) return;
    ++progress.sent;
    network_.start(routes_.first_of_phase[at(number)] + edge, phase.what->bytes, tag_of(number, edge));
  }

  void add_bytes(int number, int edge, Bytes bytes) {
    for (const LinkId link : graph_.patterns[at(phases_[at(number)].what->pattern)].route(at(edge)))
      link_bytes_[index(link)] += bytes.si();
  }

  const MessageRoutes& routes_;
  std::vector<double> link_bytes_;         ///< counted message by message
  std::vector<FlatLists> passing_on_;      ///< by pattern
  std::vector<FlatLists> edges_of_ranks_;  ///< by pattern
  std::vector<int> first_phase_;           ///< by collective: index in phases_
  std::vector<RunningPhase> phases_;       ///< of all collectives
  std::vector<Attendance> attendances_;    ///< by collective
};

}  // namespace

namespace {

/// The graph with the edges of all patterns whose edges were only counted; nothing if there are none.
std::optional<TaskGraph> listed(const TaskGraph& graph) {
  if (std::ranges::none_of(graph.patterns, [](const Pattern& pattern) { return pattern.source != nullptr; }))
    return std::nullopt;
  TaskGraph made = graph;
  for (Pattern& pattern : made.patterns) pattern = Pattern(with_edges(pattern));
  return made;
}

}  // namespace

Timeline run_messages(const TaskGraph& asked, const EngineOptions& options) {
  const std::optional<TaskGraph> with_all_edges = listed(asked);
  const TaskGraph& graph = with_all_edges ? *with_all_edges : asked;
  Calendar calendar = calendar_of_links(graph);
  const MessageRoutes routes = message_routes(graph);
  const std::unique_ptr<ChangingNetwork> network = make_simgrid_network(routes.links);
  for (const std::vector<int>& route : routes.routes) network->add_route(route);
  Replay replay(graph, options, calendar);
  MessagesExecutor executor(graph, routes, *network, calendar, replay);
  return run_flows(graph, *network, calendar, replay, executor);
}

}  // namespace trainyard::engine
