#include "explain/explain_step.hpp"

#include "collectives/protocol_overheads.hpp"
#include "engine/makespan.hpp"
#include "explain/critical_path.hpp"
#include "platform/path_type.hpp"
#include "run/layout_parts.hpp"
#include "run/simulate.hpp"
#include "schedule/steady_launches.hpp"
#include "schedule/step_variants.hpp"
#include "strategy/stack_ops.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

namespace trainyard {

namespace {

/// The index of the class that ends last.
std::size_t last_class(const ReplayedStep& step) {
  const auto end_of = [&](const RankClass& one) {
    return step.timeline.ranks[at(index(one.ranks.front()))].end;
  };
  const std::vector<RankClass>& classes = step.resolved.classes;
  return static_cast<std::size_t>(std::ranges::max_element(classes, {}, end_of) - classes.begin());
}

/// Adds the conditions of the real step one after the other.
std::vector<GapTime> gap_of(const ReplayedStep& step) {
  Seconds kernels;
  Seconds recompute;
  Seconds host;
  Seconds slowest_gpu;
  const bool has_layout = step.resolved.layout.has_value();
  const int micro_batches = has_layout ? step.resolved.layout->micro_batches : 1;
  const std::size_t last = step.resolved.classes.size() > 1 ? last_class(step) : 0;
  const RankClass& one = step.resolved.classes[last];
  const std::vector<OpTime>& times = step.plan.op_times[last];
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Op& op = one.trace.ops[i];
    if (op.role == OpRole::ranks_overhead) continue;
    const OpTime& time = times[i];
    const int runs = runs_of(one, static_cast<int>(i), micro_batches);
    Seconds& part = op.kind == OpKind::host ? host : op.role == OpRole::recompute ? recompute : kernels;
    part += runs * (time.duration - time.slowest_gpu);
    slowest_gpu += runs * time.slowest_gpu;
  }
  if (has_host(one.trace)) host += steady_launches_alone(one, times, micro_batches, {}).waits;
  std::vector<GapTime> gap{{GapPart::kernels, kernels}};
  if (has_layout) gap.push_back({GapPart::recompute, recompute});
  gap.push_back({GapPart::host, host});
  gap.push_back({GapPart::slowest_gpu, slowest_gpu});
  Seconds before = kernels + recompute + host + slowest_gpu;
  const auto add = [&](GapPart part, Seconds step_time) {
    const Seconds now = with_input(step_time, step.input, step.resolved.settings.input);
    gap.push_back({part, now - before});
    before = now;
  };
  add(GapPart::input, before);
  const TaskGraph& graph = step.plan.graph;
  const bool may_wait = pipeline_stages(step.resolved) > 1 || step.resolved.settings.traces.has_value();
  add(may_wait ? GapPart::bubble : GapPart::framework,
      closed_makespan(graph, undisturbed(without_network(step.plan))));
  add(GapPart::bound, closed_makespan(graph, ideal(step.plan)));
  add(GapPart::algorithm, closed_makespan(graph, undisturbed({})));
  add(GapPart::kernel_slowdown, closed_makespan(graph));
  add(GapPart::network, step.timeline.makespan);
  // Ignores differences caused by the order of additions.
  constexpr double rounding = 1e-9;
  for (std::size_t i = gap.size() - 1; i > 0; --i) {
    if (std::abs(gap[i].time.si()) > rounding * before.si()) continue;
    gap[i - 1].time += gap[i].time;
    gap[i].time = Seconds{};
  }
  return gap;
}

/// The limit that keeps an edge below the bandwidth of its links.
struct Holder {
  ConnectionLimit limit{};
  std::optional<LinkId> link;  ///< of whose bandwidth a protocol leaves a part; none: no single link's
};

Holder holder_of(const ReplayedStep& step, Protocol protocol, Bandwidth limit, const LinkUses& uses) {
  const ProtocolOverheads& overheads = step.resolved.library.overheads;
  const auto is_limit = [&](Bandwidth other) {
    constexpr double rounding = 1e-9;
    return std::abs(limit / other - 1) < rounding;
  };
  if (is_limit(step.cluster.platform.staged.value * efficiency(PathType::staged, {}, overheads, protocol)))
    return {ConnectionLimit::host_memory, {}};
  std::optional<LinkId> left;
  bool is_between_nodes = false;
  for_each_use(uses, step.plan.graph.links, [&](LinkId link, int times, Bandwidth capacity, std::uint32_t) {
    for (int type = 0; type < path_types && !left; ++type) {
      const double reached = efficiency(static_cast<PathType>(type), {}, overheads, protocol);
      if (reached < 1 && is_limit(capacity / static_cast<double>(times) * reached)) left = link;
    }
    is_between_nodes = is_between_nodes || is_fabric(step.cluster, link);
  });
  if (left) return {ConnectionLimit::protocol, left};
  // an edge between nodes may be spread over several connections, so there is no single rate for comparison
  if (is_between_nodes && std::isfinite(step.cluster.platform.fabric.per_flow.value.si()))
    return {ConnectionLimit::fabric, {}};
  return {ConnectionLimit::lane, {}};
}

/// The part of the network that a holder is. `tightest`: of the links.
NetworkPart part_of(const Cluster& cluster, const Holder& holder, LinkId tightest) {
  if (holder.limit == ConnectionLimit::host_memory) return NetworkPart::host_memory;
  if (holder.limit == ConnectionLimit::fabric) return NetworkPart::connections;
  return part_of(cluster, holder.link.value_or(tightest));
}

/// Whether its figure is assumed.
bool is_assumed(const Cluster& cluster, const Holder& holder, LinkId tightest) {
  const Platform& platform = cluster.platform;
  if (holder.limit == ConnectionLimit::host_memory) return platform.staged.is_assumed();
  if (holder.limit == ConnectionLimit::fabric) return platform.fabric.per_flow.is_assumed();
  return is_assumed(cluster, holder.link.value_or(tightest));
}

/// The rate of a phase's edges and their limit.
PhaseEdges edges_of(const ReplayedStep& step, Protocol protocol, const CollectivePhase& phase) {
  const TaskGraph& graph = step.plan.graph;
  PhaseEdges edges;
  CollectivePace& pace = edges.pace;
  const LinkUses uses = uses_of(graph.patterns[at(phase.pattern)]);
  const Bandwidth lockstep = lockstep_rate(uses, graph.links);
  pace.edge = std::min(lockstep, phase.limit);
  constexpr double rounding = 1e-9;
  pace.is_connection = phase.limit < (1 - rounding) * lockstep;
  std::optional<LinkId> tightest;
  for_each_use(uses, graph.links, [&](LinkId link, int times, Bandwidth capacity, std::uint32_t links) {
    constexpr double alike = 1 + 1e-9;
    if (capacity / static_cast<double>(times) > lockstep * alike) return;
    if (!tightest) {
      tightest = link;
      pace.link = link_name(step.cluster, link);
      pace.crossed = times;
      pace.capacity = capacity;
    }
    pace.alike += static_cast<int>(links);
  });
  if (!tightest) return edges;
  const Holder of_connection = holder_of(step, protocol, phase.limit, uses);
  const Holder holder = pace.is_connection ? of_connection : Holder{};
  pace.held_by = holder.limit;
  pace.part = part_of(step.cluster, holder, *tightest);
  pace.is_assumed = is_assumed(step.cluster, holder, *tightest);
  edges.of_connection = part_of(step.cluster, of_connection, *tightest);
  return edges;
}

}  // namespace

const PhaseEdges& CollectivePaces::edges(int collective, const CollectivePhase& phase) {
  const Protocol protocol = step_.plan.graph.collectives[at(collective)].label.protocol;
  const auto [found, is_new] = edges_.try_emplace(std::tuple(phase.pattern, phase.limit, protocol));
  if (is_new) found->second = edges_of(step_, protocol, phase);
  return found->second;
}

CollectivePace CollectivePaces::of_phase(int collective, const CollectivePhase& phase) {
  CollectivePace pace = edges(collective, phase).pace;
  pace.collective = collective;
  const Seconds latency = phase.latency * (phase.hops == 0 ? phase.messages : phase.hops);
  pace.sums = phase.hops == 0 ? phase.messages * phase.sums : Seconds();
  pace.latency = latency - pace.sums;
  pace.transfer = closed_form(phase, pace.edge) - latency;
  return pace;
}

CollectivePace CollectivePaces::of(int collective) {
  const Collective& planned = step_.plan.graph.collectives[at(collective)];
  CollectivePace pace;
  pace.collective = collective;
  CollectivePace sum;
  for (const CollectivePhase& phase : planned.phases) {
    CollectivePace phase_pace = of_phase(collective, phase);
    sum.latency += phase_pace.latency;
    sum.sums += phase_pace.sums;
    sum.transfer += phase_pace.transfer;
    if (phase_pace.transfer > pace.transfer) pace = std::move(phase_pace);
  }
  pace.overhead = planned.overhead;
  pace.latency = sum.latency;
  pace.sums = sum.sums;
  pace.transfer = sum.transfer;
  return pace;
}

Explanation explain_step(const ReplayedStep& step) {
  Explanation explanation;
  explanation.path = path_segments(step);
  CollectivePaces paces(step);
  for (const PathSegment& segment : explanation.path) {
    if (is_communication(segment.kind)) explanation.paces.push_back(paces.of(segment.collective));
  }
  explanation.gap = gap_of(step);
  return explanation;
}

Explained simulate_and_explain(ResolvedExperiment resolved) {
  Explained explained{
      .run = simulate(std::move(resolved), {.rows = false, .learn = false, .recorded = ranks_on_paths}),
      .explanation = {}};
  const Run& run = explained.run;
  if (updates_of(run) != nullptr) return explained;
  explained.explanation = explain_step(replayed(run));
  return explained;
}

ReplayedStep replayed(const Run& run) {
  const Step& step = step_of(run);
  return {.resolved = run.experiment,
          .cluster = *run.experiment.network,
          .plan = step.plan,
          .timeline = step.timeline,
          .input = run.input ? std::optional(run.input->loading) : std::nullopt};
}

}  // namespace trainyard
