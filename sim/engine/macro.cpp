#include "engine/executors.hpp"
#include "engine/flow_executor.hpp"
#include "engine/link_faults.hpp"
#include "engine/macro_flows.hpp"

#include <algorithm>

namespace trainyard::engine {

namespace {

/// Sends the flows of a collective, phase by phase; all ranks leave at the end of the last flow.
class MacroExecutor final : public FlowExecutor {
public:
  MacroExecutor(const TaskGraph& graph, const MacroFlows& flows, ChangingNetwork& network, Calendar& calendar,
                Replay& replay)
      : FlowExecutor(graph, network, calendar, replay),
        flows_(flows),
        progress_(graph.collectives.size()),
        carried_(flows.parts.size()) {}

  void arrive(int, int, double) override {}
  void start(int collective, double date) override {
    const Seconds overhead = graph_.collectives[at(collective)].overhead;
    progress_[at(collective)] = {};
    if (flows_.collectives[at(collective)].empty()) {
      calendar_.enter(date + overhead.si(), EventKind::over, collective);
    } else {
      begin_phase(collective, 0, date + overhead.si());
    }
  }

  [[nodiscard]] std::vector<double> link_bytes() const override {
    std::vector<double> bytes(graph_.links.size(), 0);
    for (std::size_t part = 0; part < flows_.parts.size(); ++part)
      add_link_bytes(carried_[part], flows_.parts[part].uses, bytes);
    return bytes;
  }

private:
  struct Progress {
    int phase = 0;
    std::vector<FlowProgress> groups;
  };

  void change_link(int event) override {
    const int link = flows_.network.of_event[at(event)];
    if (link < 0) return;
    network_.set_capacity(link, graph_.link_events[at(event)].bandwidth * flows_.network.scales[at(link)]);
  }

  void on_own_event(const Event& event) override {
    if (event.kind == EventKind::over) {
      replay_.leave_all(event.target, event.date);
    } else {
      ++progress_[at(event.target)].groups[at(event.item)].ready;
      try_send(event.target, event.item);
    }
  }

  /// Tags: the collective and the group.
  void deliver(std::uint64_t tag, double date) override {
    const int collective = high_of(tag);
    const int group = low_of(tag);
    const PhaseFlows& phase = phase_of(collective);
    carried_[at(phase.groups[at(group)].part)] += phase.bytes;
    FlowProgress& mine = progress_[at(collective)].groups[at(group)];
    ++mine.delivered;
    if (at(group) + 1 < phase.groups.size()) {
      prepare(collective, group + 1, date);
    } else if (mine.delivered == phase.count) {
      begin_phase(collective, progress_[at(collective)].phase + 1, date);
      return;
    }
    if (phase.groups.size() == 1) {
      prepare(collective, group, date);
    } else {
      try_send(collective, group);
    }
  }

  void count_in_flight(const ChangingNetwork::InFlight& flow) override {
    const PhaseFlows::Group& group = phase_of(high_of(flow.tag)).groups[at(low_of(flow.tag))];
    carried_[at(group.part)] += flow.delivered / unit_of(group);
  }

  [[nodiscard]] const PhaseFlows& phase_of(int collective) const {
    return flows_.collectives[at(collective)][at(progress_[at(collective)].phase)];
  }
  [[nodiscard]] double unit_of(const PhaseFlows::Group& group) const {
    return flows_.network.units[at(group.part)];
  }

  void begin_phase(int collective, int phase, double date) {
    const std::vector<PhaseFlows>& phases = flows_.collectives[at(collective)];
    if (phase == static_cast<int>(phases.size())) {
      replay_.leave_all(collective, date);
      return;
    }
    Progress& progress = progress_[at(collective)];
    progress.phase = phase;
    progress.groups.assign(phases[at(phase)].groups.size(), {});
    prepare(collective, 0, date);
  }

  /// Begins the latencies of a group's flows whose data is there: all at once for the first group, otherwise
  /// as many as the previous group has delivered. In rounds, a flow waits for the one before it.
  void prepare(int collective, int group, double date) {
    const PhaseFlows& phase = phase_of(collective);
    std::vector<FlowProgress>& groups = progress_[at(collective)].groups;
    FlowProgress& mine = groups[at(group)];
    int come = phase.count;
    if (phase.groups.size() == 1) {
      come = std::min(come, mine.delivered + 1);
    } else if (group > 0) {
      come = groups[at(group - 1)].delivered;
    }
    for (; mine.begun < come; ++mine.begun)
      calendar_.enter(date + phase.groups[at(group)].latency.si(), EventKind::ready, collective, group);
  }

  void try_send(int collective, int group) {
    const PhaseFlows& phase = phase_of(collective);
    FlowProgress& mine = progress_[at(collective)].groups[at(group)];
    if (!mine.may_send()) return;
    ++mine.sent;
    const PhaseFlows::Group& what = phase.groups[at(group)];
    network_.start(what.route, phase.bytes * unit_of(what), tag_of(collective, group));
  }

  const MacroFlows& flows_;
  std::vector<Progress> progress_;  ///< by collective
  std::vector<Bytes> carried_;      ///< by part, per edge
};

/// Limit on the flows of all collectives of a graph in fidelity `flow`, if collectives may disturb each
/// other.
constexpr int affordable_flows = 50'000;

/// Flows that stand for the rounds of a collective that has the network to itself, in fidelity `flow`.
constexpr int flow_rounds = 16;

/// A collective that has the network to itself takes the same time however it is cut. If others may disturb
/// it, flows that stand for several rounds are off by up to 9 %, most when two collectives are cut
/// differently (README.md). So `flow` also simulates every round as long as that is cheap.
MacroLimits limits_for(const TaskGraph& graph, const EngineOptions& options) {
  constexpr int groups = 16;
  const bool in_flow = options.fidelity == Fidelity::flow;
  if (!may_disturb(graph)) return {.flows = in_flow ? flow_rounds : 0, .groups = 1, .flows_of_group = 1};
  if (!in_flow) return {.flows = 0, .groups = groups, .flows_of_group = 1024};
  const int each = affordable_flows / std::max(1, static_cast<int>(graph.collectives.size()));
  return {.flows = std::max(flow_rounds, each),
          .groups = groups,
          .flows_of_group = std::clamp(each / groups, flow_rounds, 256)};
}

}  // namespace

Timeline run_macro(const TaskGraph& graph, const EngineOptions& options) {
  Calendar calendar = calendar_of_links(graph);
  const MacroFlows flows = macro_flows(graph, limits_for(graph, options));
  const std::unique_ptr<ChangingNetwork> network = make_simgrid_network(flows.network.links);
  for (const MacroFlows::Route& route : flows.routes)
    network->add_shared_route(route.links, flows.network.units[at(route.part)]);
  Replay replay(graph, options, calendar);
  MacroExecutor executor(graph, flows, *network, calendar, replay);
  return run_flows(graph, *network, calendar, replay, executor);
}

}  // namespace trainyard::engine
