#include "run/simulate.hpp"

#include "experiment/shared_network.hpp"
#include "platform/channels.hpp"
#include "run/calibrated_on.hpp"
#include "run/checks.hpp"
#include "run/energy.hpp"
#include "run/job.hpp"
#include "run/other_traffic.hpp"
#include "run/simulate_updates.hpp"
#include "run/step_rows.hpp"
#include "strategy/stack_ops.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace trainyard {

namespace {

/// The step on the real network, shared with its other users.
Timeline run_among_others(const ResolvedExperiment& resolved, const Cluster& cluster, const StepPlan& plan,
                          const EngineOptions& options) {
  if (!has_others(resolved)) return run(plan.graph, options);
  if (options.fidelity == Fidelity::closed) {
    throw InputError(
        "fidelity closed times every collective alone: neighbours, background and events are not in it",
        "fidelity: flow, rounds or steps");
  }
  TaskGraph graph = plan.graph;
  add_others(resolved, cluster, graph);
  for (const PlannedCollective& collective : plan.collectives)
    graph.collective_names.push_back(collective.name);
  return run(graph, options);
}

/// Plans the step, replays it and checks its properties. Throws OutOfMemory before anything runs.
Step replayed_step(const ResolvedExperiment& resolved, StepPlan plan, Fidelity fidelity,
                   const SimulateOptions& options) {
  const int ranks = resolved.cluster->ranks();
  EngineOptions engine{.fidelity = fidelity, .fold = options.fold, .recorded = {}};
  const int recorded = options.timeline ? std::min(ranks, most_recorded) : 0;
  for (int rank = 0; rank < recorded; ++rank) engine.recorded.push_back(Rank{rank});
  if (options.recorded) {
    for (const Rank rank : options.recorded(plan.graph, fidelity)) {
      if (index(rank) >= recorded) engine.recorded.push_back(rank);
    }
  }
  Step step;
  step.lower_bound = run(ideal(plan), {.fidelity = Fidelity::closed, .recorded = {}}).makespan;
  step.timeline = run_among_others(resolved, *resolved.network, plan, engine);
  require_none(violations(plan, step.timeline, step.lower_bound, has_others(resolved)));
  step.plan = std::move(plan);
  return step;
}

/// One rank's step does not include host times that occur only in jobs of several ranks.
bool has_one_rank(const Op& op) { return op.layer != ranks_overhead_layer; }

/// Adds in the order of the stream, so that one rank's step and the sum of its kernels are equal to the last
/// bit.
template <class Wanted>
Seconds sum_of_ops(const Trace& trace, const StepPlan& plan, Wanted is_wanted) {
  Seconds sum;
  for (std::size_t i = 0; i < plan.op_times.size(); ++i) {
    if (is_wanted(trace.ops[i])) sum += plan.op_times[i].duration;
  }
  return sum;
}

void add_times(const ResolvedExperiment& resolved, const std::optional<DataLoading>& input, Step& step) {
  const InputSettings& settings = resolved.settings.input;
  const RankSpan& rank = step.timeline.ranks.front();
  const Seconds makespan = step.timeline.makespan;
  step.time = with_input(makespan, input, settings);
  step.lower_bound = with_input(step.lower_bound, input, settings);
  step.compute = rank.compute;
  for (std::size_t i = 0; i < step.plan.op_times.size(); ++i) {
    if (resolved.trace.ops[i].kind == OpKind::host) step.compute -= step.plan.op_times[i].duration;
  }
  const Seconds alone = sum_of_ops(resolved.trace, step.plan, has_one_rank);
  const Seconds of_ranks =
      sum_of_ops(resolved.trace, step.plan, [](const Op& op) { return !has_one_rank(op); });
  step.slowed = std::max(Seconds{}, rank.compute - alone - of_ranks);
  step.communication = rank.communication;
  step.exposed = std::max(Seconds{}, makespan - rank.compute);
  const Seconds without =
      run(without_network(step.plan), {.fidelity = Fidelity::closed, .recorded = {}}).makespan;
  step.network_gain = std::max(Seconds{}, step.time - with_input(without, input, settings));
}

std::vector<RankRow> rank_rows(const Cluster& cluster, const Timeline& timeline) {
  std::vector<RankRow> rows;
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    const RankSpan& span = timeline.ranks[at(rank)];
    rows.push_back({.rank = Rank{rank},
                    .node = cluster.node_of(Rank{rank}),
                    .gpu = cluster.platform.node[cluster.gpu_of(Rank{rank})].name,
                    .compute = span.compute,
                    .communication = span.communication,
                    .end = span.end});
  }
  return rows;
}

ComputeSourceShares shares_of(const std::vector<OpTime>& times) {
  Seconds total;
  Seconds by_source[3];
  for (const OpTime& time : times) {
    total += time.duration;
    by_source[static_cast<int>(time.source)] += time.duration;
  }
  if (total <= Seconds{}) return {};
  return {.measured = by_source[static_cast<int>(ComputeSource::measured)] / total,
          .fitted = by_source[static_cast<int>(ComputeSource::fitted)] / total,
          .roofline = by_source[static_cast<int>(ComputeSource::roofline)] / total};
}

Pace pace_of(const ResolvedExperiment& resolved, const Step& step) {
  Pace pace;
  const int ranks = resolved.cluster->ranks();
  pace.time = step.time;
  pace.one_rank = with_input(sum_of_ops(resolved.trace, step.plan, has_one_rank),
                             data_loading(resolved, 1, 1), resolved.settings.input);
  pace.global_batch =
      static_cast<std::int64_t>(resolved.settings.batch_per_gpu) * resolved.settings.accumulation * ranks;
  pace.throughput = static_cast<double>(pace.global_batch) / pace.time.si();
  pace.efficiency = pace.one_rank / pace.time;
  pace.speedup = pace.efficiency * ranks;
  return pace;
}

Known<EnergyUse> energy_of(const ResolvedExperiment& resolved, const Step& step) {
  if (const auto reason = energy_unknown(resolved.platform, resolved.gpu, resolved.trace))
    return unknown(*reason);
  const Joules energy =
      step_energy(step.plan.graph, resolved.cluster->ranks(), resolved.trace, step.time, resolved.gpu,
                  resolved.cluster->nodes, node_overhead(resolved.platform, resolved.gpu)->value);
  return EnergyUse{energy, energy / step.time};
}

/// Unknown for a trace, which does not list its activations. Throws OutOfMemory if the step does not fit.
Known<MemoryReport> checked_memory(const ResolvedExperiment& resolved, const StepPlan& plan) {
  if (!resolved.model) return unknown("a trace does not say what its activations take");
  MemoryReport report = memory_report(resolved, resolved.cluster->ranks(), plan.channels);
  require_fit(report);
  return report;
}

/// Notes for the reader of the result, in the order in which their causes arise.
std::vector<std::string> notes_of(const Run& run) {
  const ResolvedExperiment& resolved = run.experiment;
  const Step& step = step_of(run);
  std::vector<std::string> notes;
  if (resolved.settings.precision == Precision::tf32 &&
      matrix_dtype(resolved.gpu, resolved.settings.precision) == Dtype::fp32)
    notes.push_back(resolved.gpu.name + " has no TF32 units: tf32 is fp32 on it");
  if (run.memory) std::ranges::copy(run.memory->assumptions, std::back_inserter(notes));
  if (run.energy) {
    notes.push_back(energy_note(resolved.platform, resolved.gpu));
    if (run.ranks > 1 && resolved.settings.sync.kind == SyncKind::peer_to_peer)
      notes.emplace_back("energy: what compresses updates and adds them up is not counted");
  }
  if (run.input) std::ranges::copy(input_notes(resolved, *run.input), std::back_inserter(notes));
  std::ranges::copy(resolved.notes, std::back_inserter(notes));
  std::ranges::copy(step.plan.notes, std::back_inserter(notes));
  std::ranges::copy(notes_on_others(resolved), std::back_inserter(notes));
  for (const Diagnostic& warning : resolved.warnings) notes.push_back(warning.message);
  return notes;
}

}  // namespace

Run simulate(ResolvedExperiment resolved, const SimulateOptions& options) {
  Run run = is_multi_update(resolved.settings) ? simulate_updates(std::move(resolved), options)
                                               : simulate_step(std::move(resolved), options);
  if (run.experiment.settings.faults) {
    run.job = job_report(run);
    std::ranges::copy(job_notes(run.experiment, *run.job), std::back_inserter(run.notes));
  }
  return run;
}

Run simulate_step(ResolvedExperiment resolved, const SimulateOptions& options) {
  StepPlan plan = plan_step(resolved.trace, resolved.gpu, resolved.stack, *resolved.network,
                            all_ranks(*resolved.cluster), resolved.settings.sync, resolved.overheads);
  Run run;
  run.memory = checked_memory(resolved, plan);
  const Fidelity fidelity = options.fidelity.value_or(resolved.settings.fidelity);
  Step step = replayed_step(resolved, std::move(plan), fidelity, options);
  const std::optional<DataLoading> input = data_loading(resolved, *resolved.cluster);
  add_times(resolved, input, step);
  add_rows(resolved.trace, step);

  run.ranks = resolved.cluster->ranks();
  run.nodes = resolved.cluster->nodes;
  run.pace = pace_of(resolved, step);
  run.gpu_utilization = step.compute / step.time;
  run.compute_sources = shares_of(step.plan.op_times);
  run.matrix = matrix_work(resolved, 1 / step.time.si());
  run.energy = energy_of(resolved, step);
  run.rank_rows = rank_rows(*resolved.cluster, step.timeline);
  run.links = link_traffic(link_rows(*resolved.network, capacities(*resolved.network), step.timeline,
                                     link_events(resolved, *resolved.network)));
  if (input) {
    run.links = stretched(std::move(run.links), step.time / step.timeline.makespan);
    run.input = input_report(resolved, *input, step.time - step.timeline.makespan, run.pace.throughput);
  }
  run.calibrated_on = calibrated_on(resolved);
  run.events = step.timeline.events;
  run.what = std::move(step);
  resolved.settings.gpus = run.ranks;
  resolved.settings.fidelity = fidelity;
  run.experiment = std::move(resolved);
  run.cost = epoch_cost(run.experiment.platform, run.nodes, epoch_time(run));
  run.notes = notes_of(run);
  return run;
}

}  // namespace trainyard
