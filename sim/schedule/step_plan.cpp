#include "schedule/step_plan.hpp"

#include "collectives/planner.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/op_times.hpp"
#include "platform/channels.hpp"
#include "schedule/collective_use.hpp"
#include "schedule/host_reduction.hpp"
#include "schedule/launches.hpp"
#include "schedule/step_program.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace trainyard {

namespace {

/// The end of each op, computed like the engine does.
std::vector<Seconds> ends_of(const std::vector<OpTime>& times) {
  std::vector<Seconds> ends;
  Seconds now;
  for (const OpTime& time : times) ends.push_back(now += time.duration);
  return ends;
}

/// The experiment's algorithm for the collectives that its kind of synchronisation launches; NCCL's choice
/// for other collectives of a trace.
Algorithm algorithm_for(Operation operation, const Sync& sync) {
  if (sync.kind == SyncKind::all_reduce && operation == Operation::all_reduce) return sync.algorithm;
  if (sync.kind != SyncKind::peer_to_peer) return Algorithm::automatic;
  return sync.algorithm == Algorithm::automatic ? Algorithm::direct : sync.algorithm;
}

void add_notes(const std::vector<std::string>& notes, StepPlan& plan) {
  for (const std::string& note : notes) {
    if (std::ranges::find(plan.notes, note) == plan.notes.end()) plan.notes.push_back(note);
  }
}

/// The groups of ranks that take part in a launch.
RankGroups groups_of(Axis axis, std::span<const Rank> ranks, const Grid* grid) {
  if (grid == nullptr) return {{ranks.begin(), ranks.end()}};
  return groups(*grid, axis);
}

void add_collectives(std::vector<Launch>& launches, const Cluster& cluster, std::span<const Rank> ranks,
                     const Grid* grid, const Sync& sync, const std::string& held,
                     const CollectiveSoftware& software, StepPlan& plan) {
  std::map<std::pair<Operation, Axis>, Planner> planners;
  for (Launch& launch : launches) {
    launch.collective = static_cast<int>(plan.graph.collectives.size());
    Planner& planner = planners
                           .try_emplace({launch.operation, launch.axis}, cluster, software,
                                        PlannerRequest{.operation = launch.operation,
                                                       .groups = groups_of(launch.axis, ranks, grid),
                                                       .root = ranks.front(),
                                                       .algorithm = algorithm_for(launch.operation, sync),
                                                       .grid = sync.grid})
                           .first->second;
    const CollectivePlan& chosen = planner.plan(launch.size, plan.graph.patterns);
    add_notes(chosen.notes, plan);
    plan.channels = std::max(plan.channels, chosen.channels);
    Collective& collective =
        plan.graph.collectives.emplace_back(planner.collective(launch.size, plan.graph.patterns));
    collective.label = {.name = launch.name,
                        .purpose = launch.purpose,
                        .axis = grid == nullptr ? Axis::all : launch.axis,
                        .algorithm = chosen.algorithm,
                        .protocol = chosen.protocol,
                        .channels = chosen.channels,
                        .tensors = launch.tensors,
                        .ready_op = launch.ready_op,
                        .held = held,
                        .before = launch.before.name,
                        .after = launch.after.name,
                        .bound = planner.bound(launch.size)};
  }
}

/// Sets the launches' use of the GPUs that compute at the same time.
void set_uses(const StepPlan& plan, const GpuProfile& gpu, const CollectiveSoftware& library,
              std::vector<Launch>& launches) {
  const std::vector<GpuUse> uses = collective_uses(plan, gpu, library);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    launches[i].use = uses[i];
    for (SideWork* work : {&launches[i].before, &launches[i].after})
      work->use = work->is_of_host ? GpuUse{} : moving_bytes;
  }
}

void require_one_node(const Cluster& cluster, std::span<const Rank> ranks) {
  const int nodes = index(cluster.node_of(ranks.back())) - index(cluster.node_of(ranks.front())) + 1;
  if (nodes == 1) return;
  throw InputError(
      fmt::format("dataparallel_gpu0 is one process on one node, but the job has {} nodes", nodes),
      "use nodes: 1, or kind: all_reduce");
}

/// A trace's collectives are among all ranks, or among replicas, which all ranks are.
void require_no_groups(const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) {
    const std::string_view key = traits(launch.axis).key;
    if (key.empty()) continue;
    throw InputError(
        fmt::format("the trace has collectives among ranks of group '{}', but the experiment does not "
                    "say which ranks these are",
                    config::name_of(launch.axis)),
        fmt::format("add parallelism: {{{}: 8}}", key));
  }
}

/// Leaves out the collectives of groups of one rank.
void drop_single(const Grid& grid, std::vector<Launch>& launches) {
  std::erase_if(launches, [&](const Launch& launch) { return group_size(grid, launch.axis) == 1; });
}

}  // namespace

std::vector<Bandwidth> capacities(const Cluster& cluster) {
  std::vector<Bandwidth> all;
  const std::uint32_t count = link_count(cluster);
  all.reserve(count);
  for (std::uint32_t link = 0; link < count; ++link) all.push_back(capacity(cluster, LinkId{link}));
  return all;
}

StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   const Sync& sync, const CollectiveSoftware& library) {
  return plan_step(trace, gpu, stack, cluster, all_ranks(cluster), sync, library);
}

StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   std::span<const Rank> ranks, const Sync& sync, const CollectiveSoftware& library,
                   const Grid* grid) {
  StepPlan plan;
  plan.op_times = {op_times(trace, gpu, stack)};
  std::vector<Launch> launches;
  const bool has_owner = sync.kind == SyncKind::dataparallel_gpu0 && ranks.size() > 1;
  if (has_owner) require_one_node(cluster, ranks);
  if (ranks.size() > 1) {
    launches =
        launches_of(trace, ends_of(plan.op_times.front()), stack, gpu, sync, static_cast<int>(ranks.size()));
    if (grid == nullptr)
      require_no_groups(launches);
    else
      drop_single(*grid, launches);
    if (stack.host_reduction) {
      plan.host_sums = reduce_on_hosts(*stack.host_reduction, cluster, ranks, launches);
      if (cluster.node_of(ranks.front()) == cluster.node_of(ranks.back()))
        add_notes({"host_reduction of the stack changes nothing: all ranks are on one node"}, plan);
    }
    plan.graph.links = link_capacities(cluster);
    add_notes(notes_on_kind(sync, stack), plan);
  }
  const bool has_cycle = stack.fusion && !has_owner;
  add_collectives(launches, cluster, ranks, grid, sync, has_cycle ? "cycle" : "negotiation", library, plan);
  if (stack.overlap_slows) set_uses(plan, gpu, library, launches);
  plan.graph.programs = {step_program(trace, plan.op_times.front(), launches, {})};
  if (has_owner) {
    plan.graph.programs.push_back(
        step_program(trace, plan.op_times.front(), launches, {.is_root = false, .is_updated = false}));
  }
  plan.graph.programs.emplace_back();
  plan.graph.program_of_rank.assign(at(cluster.ranks()), static_cast<int>(plan.graph.programs.size()) - 1);
  for (const Rank rank : ranks)
    plan.graph.program_of_rank[at(index(rank))] = has_owner && rank != ranks.front() ? 1 : 0;
  return plan;
}

}  // namespace trainyard
