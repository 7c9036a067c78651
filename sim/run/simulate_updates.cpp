#include "engine/training.hpp"
#include "experiment/shared_network.hpp"
#include "experiment/stack_rules.hpp"
#include "experiment/workers.hpp"
#include "limits/run_limits.hpp"
#include "run/checks.hpp"
#include "run/energy.hpp"
#include "run/learning.hpp"
#include "run/replica_step.hpp"
#include "run/server_updates.hpp"
#include "run/simulate.hpp"
#include "run/step_at_pace.hpp"
#include "run/update_setup.hpp"
#include "schedule/step_plan.hpp"
#include "units/text.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

/// The steady step that all ranks take in lock step without servers.
ResolvedExperiment in_lock_step(ResolvedExperiment resolved) {
  const Sync sync = resolved.settings.sync;
  resolved.settings.random = {};
  resolved.settings.input = {};
  resolved.settings.sync = {.kind = sync.kind,
                            .algorithm = sync.algorithm,
                            .grid = sync.grid,
                            .compression = sync.compression,
                            .keep = sync.keep};
  // Parameters are averaged after the last local step, without overlap.
  if (traits(sync.update).averages) {
    resolved.stack.overlap = false;
    resolved.stack.gradient_dtype = GradientDtype::fp32;
    std::erase_if(resolved.stack.gradient_work,
                  [](const GradientPass& pass) { return pass.ranks == PassRanks::many; });
  }
  return resolved;
}

/// One rank alone for runs with servers, which run the optimizer.
ResolvedExperiment one_rank_alone(ResolvedExperiment resolved) {
  resolved.settings.sync = {};
  resolved.settings.random = {};
  resolved.settings.input = {};
  for (RankClass& one : resolved.classes) {
    std::erase_if(one.trace.ops,
                  [](const Op& op) { return op.phase == Phase::optimizer && op.kind != OpKind::host; });
    one.ranks = {Rank{0}};
  }
  resolved.settings.nodes = 1;
  resolved.settings.gpus = 1;
  resolved.settings.gpus_per_node = std::nullopt;
  resolved.cluster = resolved.network = cluster_for(resolved.platform, resolved.settings);
  return resolved;
}

Run steady_step(const ResolvedExperiment& resolved, const SimulateOptions& options) {
  if (is_of_replicas(resolved)) return run_of_replicas(resolved, options);
  if (has_servers(resolved.settings.sync))
    return simulate_step(one_rank_alone(resolved),
                         {.fidelity = Fidelity::closed, .fold = options.fold, .memory_of = &resolved});
  return simulate_step(in_lock_step(resolved),
                       {.fidelity = options.fidelity, .fold = options.fold, .timeline = options.timeline});
}

/// Whether every rank runs an op: if GPU 0 updates alone, the others have no optimizer ops.
std::vector<bool> ops_of_all(const ResolvedExperiment& resolved) {
  const bool is_alone = resolved.settings.sync.kind == SyncKind::dataparallel_gpu0;
  std::vector<bool> are_of_all;
  for (const Op& op : only_class(resolved).trace.ops)
    are_of_all.push_back(!is_alone || op.phase != Phase::optimizer);
  return are_of_all;
}

/// The steady step at other paces of its kernels.
StepAtPace at_other_paces(const Step& steady, std::vector<bool> is_paced) {
  std::vector<Seconds> collectives;
  for (const CollectiveRow& row : steady.collectives) collectives.push_back(row.end - row.start);
  return {steady.plan, std::move(collectives), std::move(is_paced)};
}

/// With collectives, the exposed communication of a steady step begins when the last rank arrives.
Training train_in_step(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                       const StepCounts& counts, const Run& steady, bool learns) {
  Training training;
  training.cluster = resolved.cluster;
  const std::vector<bool> are_of_all = ops_of_all(resolved);
  const std::vector<OpRow>& rows = slowest_class(step_of(steady)).ops;
  std::vector<Seconds> ops;
  for (std::size_t op = 0; op < rows.size(); ++op) {
    if (are_of_all[op]) ops.push_back(rows[op].duration);
  }
  std::vector<StepTimes> times =
      step_times(resolved, *resolved.cluster, settings.workers, ops, counts.repeats);
  StepAtPace step = at_other_paces(step_of(steady), are_of_all);
  expect(expected_events(resolved, settings, ops.size(), nullptr), events_of_steps, {}, fewer_steps);
  TrainingOptions options = training_options(settings, counts);
  options.exchange = [&step](Seconds computed) { return step.beyond(computed); };
  options.log = order_logs(resolved, settings, counts, times.front().nominal(), learns, training.logs);
  training.load = load_of_sums(resolved.platform, step_of(steady).plan.host_sums);
  options.loading = loading_times(resolved, *resolved.cluster, settings.workers, training.load);
  training.events = steady.events;
  const std::vector<TrainingRecord> repeats = without_network(settings, times, options, training.events);
  training.updates = updates_from(repeats, *resolved.cluster, settings, 1, counts);
  // The links carry the same bytes as in the steady step, but in a different time.
  training.links = stretched(steady.links, training.updates.time.median / steady.pace.time);
  require_none(violations(repeats, training.links.rows, step.least()));
  training.notes_after.emplace_back(
      "exposed communication and kernel slowdown are those of a step at the slowest rank's pace: both are "
      "added after that rank's compute");
  if (traits(resolved.settings.sync.update).averages && has_passes_of_many(resolved.stack))
    training.notes_after.emplace_back(
        "passes of the stack with 'ranks: many' are not used: parameters are averaged");
  if (settings.workers == 1 && resolved.settings.random.communication)
    training.notes_after.emplace_back("one rank sends nothing: random.communication delays nothing");
  if (resolved.settings.sync.kind == SyncKind::dataparallel_gpu0)
    training.notes_after.emplace_back("the update on GPU 0 counts as communication: all ranks wait for it");
  return training;
}

void check_simulable(const ResolvedExperiment& resolved, Fidelity fidelity) {
  if (has_other_traffic(resolved)) {
    throw InputError(
        "neighbours, background and events need a steady step: synchronous updates, nothing random",
        "remove them, or use 'update: sync' and remove 'random'");
  }
  for (const SlowNode& slow : resolved.settings.random.slow) {
    if (slow.node < resolved.cluster->nodes) continue;
    throw InputError(fmt::format("random.slow names node {}, but the job has nodes 0 to {}", slow.node,
                                 resolved.cluster->nodes - 1));
  }
  if (has_servers(resolved.settings.sync) && fidelity == Fidelity::closed) {
    throw InputError("fidelity 'closed' cannot simulate servers: their times depend on the order of messages",
                     "fidelity: flow, rounds or messages");
  }
}

double samples_per_step(const ResolvedExperiment& resolved) {
  return static_cast<double>(resolved.settings.batch_per_gpu) * resolved.settings.accumulation;
}

/// Samples of a step of all ranks of a worker, if these share the model.
double samples_per_replica(const ResolvedExperiment& resolved) {
  const bool divides = !resolved.layout->parallelism.layers.empty();
  return samples_per_step(resolved) * (divides ? resolved.layout->grid.layer : 1);
}

Pace pace_of_replicas(const ResolvedExperiment& resolved, const Updates& updates, const Run& steady,
                      int ranks) {
  const double per_step = samples_per_replica(resolved);
  const double per_update = per_step * gradients_in_update(updates);
  Pace pace;
  pace.time = updates.time.median;
  pace.global_batch = std::llround(per_update);
  pace.throughput = per_update / pace.time.si();
  if (steady.pace.one_rank == Seconds()) return pace;
  pace.one_rank = steady.pace.one_rank;
  pace.speedup = pace.throughput * pace.one_rank.si() / per_step;
  pace.efficiency = pace.speedup / ranks;
  return pace;
}

Pace pace_of(const ResolvedExperiment& resolved, const Updates& updates, const Run& steady, int ranks) {
  if (is_of_replicas(resolved)) return pace_of_replicas(resolved, updates, steady, ranks);
  const double per_step = samples_per_step(resolved);
  const double per_gradient = per_step * updates.settings.push_every * updates.ranks_per_worker;
  Pace pace;
  pace.time = updates.time.median;
  pace.one_rank = with_input(steady.pace.one_rank, data_loading(resolved, 1, 1), resolved.settings.input);
  pace.global_batch = std::llround(per_gradient * updates.gradients_per_update);
  pace.throughput = per_gradient * updates.gradients_per_update / pace.time.si();
  pace.speedup = pace.throughput * pace.one_rank.si() / per_step;
  pace.efficiency = pace.speedup / ranks;
  return pace;
}

/// Energy of an update, by the powers of ranks that compute and that wait.
Joules rank_energy(const Updates& updates, Watts computing, Watts waiting) {
  Joules sum;
  for (const WorkerRow& worker : updates.workers)
    sum += computing * worker.computing + waiting * (updates.measured - worker.computing);
  return sum / static_cast<double>(updates.measured_updates);
}

/// Mean powers of a rank during a step, with its memory and of the memory alone.
struct RankPower {
  Watts computing, memory;
};

RankPower power_of_rank(const ResolvedExperiment& resolved, const Run& steady, const EnergyUse& of_step) {
  if (!is_of_replicas(resolved)) {
    const std::vector<OpRow>& ops = slowest_class(step_of(steady)).ops;
    return {computing_power(ops, state_powers(resolved.gpu)),
            computing_power(ops, memory_powers(resolved.gpu))};
  }
  const Watts overhead =
      static_cast<double>(steady.nodes) * node_overhead(resolved.platform, resolved.gpu)->value;
  const auto ranks = static_cast<double>(steady.ranks);
  return {(of_step.average - overhead) / ranks, of_step.memory / ranks};
}

/// Ranks draw this power while they compute and idle power otherwise; the nodes' other power is added.
EnergyUse energy_of(const ResolvedExperiment& resolved, const Updates& updates, int nodes,
                    const RankPower& power) {
  const Seconds time = updates.measured / static_cast<double>(updates.measured_updates);
  const Joules energy =
      rank_energy(updates, power.computing, state_powers(resolved.gpu).waiting) +
      static_cast<double>(nodes) * node_overhead(resolved.platform, resolved.gpu)->value * time;
  const Joules memory = rank_energy(updates, power.memory, memory_powers(resolved.gpu).waiting);
  return {energy, energy / updates.time.median, memory / updates.time.median};
}

std::vector<RankRow> rank_rows(const Cluster& cluster, const Updates& updates) {
  std::vector<RankRow> rows;
  for (const WorkerRow& worker : updates.workers) {
    rows.push_back({.rank = worker.rank,
                    .node = worker.node,
                    .gpu = cluster.platform.node[cluster.gpu_of(worker.rank)].name,
                    .compute = worker.computing,
                    .communication = worker.communicating,
                    .end = updates.measured});
  }
  return rows;
}

/// With servers no collective runs; otherwise those of the steady step represent all.
Step step_of_updates(Step steady, bool uses_servers) {
  if (uses_servers) {
    steady.collectives.clear();
    steady.bars.clear();
  }
  return steady;
}

/// The part of a worker's compute time in which its GPU runs kernels. In the rest it waits for its host,
/// which copies samples or works for the framework. Random times stretch both alike.
double share_of_kernels(const ResolvedExperiment& resolved, const Step& steady) {
  const bool updates_apart = resolved.settings.sync.kind == SyncKind::dataparallel_gpu0;
  Seconds all;
  Seconds host;
  for (const OpRow& op : slowest_class(steady).ops) {
    if (updates_apart && op.phase == Phase::optimizer) continue;
    all += op.duration;
    if (op.kind == OpKind::host) host += op.duration;
  }
  return all > Seconds() ? 1 - host / all : 1;
}

Run run_from(ResolvedExperiment resolved, Training training, Run steady) {
  Updates& updates = training.updates;
  Run run;
  run.ranks = updates.settings.workers * updates.ranks_per_worker;
  run.nodes = training.cluster->nodes;
  run.pace = pace_of(resolved, updates, steady, run.ranks);
  run.rank_rows = rank_rows(*training.cluster, updates);
  run.gpu_utilization =
      sum_of(updates.workers).computing / (updates.measured * static_cast<double>(run.ranks));
  run.links = std::move(training.links);
  run.compute_sources = steady.compute_sources;
  if (is_of_replicas(resolved)) {
    run.gpu_utilization *= steady.gpu_utilization;  // the rest of a replica's step is its messages
    run.matrix =
        matrix_work(resolved, run.pace.throughput / updates.settings.workers / samples_per_replica(resolved));
  } else {
    run.gpu_utilization *= share_of_kernels(resolved, step_of(steady));
    run.matrix = matrix_work(resolved, run.pace.throughput / run.ranks / samples_per_step(resolved));
  }
  run.memory = std::move(steady.memory);
  run.energy = std::move(steady.energy);
  updates.wasted_energy = unknown("the power of the ranks is not known");
  if (run.energy) {
    const RankPower power = power_of_rank(resolved, steady, *run.energy);
    run.energy = energy_of(resolved, updates, run.nodes, power);
    updates.wasted_energy = power.computing * updates.wasted;
  }
  run.calibrated_on = std::move(steady.calibrated_on);
  run.events = training.events;
  run.notes = std::move(steady.notes);
  if (resolved.settings.random.gpus == GpuSpread::profile) run.notes.push_back(spread_note(resolved.gpu));
  std::ranges::copy(training.notes_before, std::back_inserter(run.notes));
  if (const auto until = shown_until(updates)) {
    run.notes.push_back(fmt::format("trace.json and report.html show the first {} of the measured {}",
                                    estimate(*until), estimate(updates.measured)));
  }
  if (const auto loading = data_loading(resolved, *resolved.cluster, training.load)) {
    const Seconds exposed = sum_of(updates.workers).loading / steps_of(updates);
    run.input = input_report(
        resolved, *loading,
        {.exposed = exposed, .throughput = run.pace.throughput, .computing = run.gpu_utilization});
    std::ranges::copy(input_notes(resolved, *run.input), std::back_inserter(run.notes));
  }
  std::ranges::copy(training.notes_after, std::back_inserter(run.notes));
  updates.steady =
      step_of_updates(std::get<Step>(std::move(steady.what)), has_servers(resolved.settings.sync));
  run.what = std::move(updates);
  resolved.settings.gpus = run.ranks;
  run.experiment = std::move(resolved);
  run.cost = epoch_cost(run.experiment.platform, run.nodes, epoch_time(run));
  return run;
}

}  // namespace

double messages_of_updates(const ResolvedExperiment& resolved, double most_at_once) {
  if (!has_servers(resolved.settings.sync)) return expected_messages(in_lock_step(resolved), most_at_once);
  if (placement_of(resolved.settings.sync) == ServerPlacement::free) return 0;
  const double in_steps = server_message_count(resolved);
  return in_steps + (is_of_replicas(resolved) ? messages_of_replicas(resolved, most_at_once) : 0);
}

Run simulate_updates(ResolvedExperiment resolved, const SimulateOptions& options) {
  const UpdateSettings settings = update_settings(resolved.settings.sync, workers_of(resolved));
  const Fidelity fidelity = options.fidelity.value_or(resolved.settings.fidelity);
  check_simulable(resolved, fidelity);
  StepCounts counts = resolved.settings.steps;
  if (!is_random(resolved.settings.random)) counts.repeats = 1;  // all repeats would be equal
  const std::vector<Absence> absent = options.learn ? absences(resolved) : std::vector<Absence>();
  Run steady = steady_step(resolved, options);
  resolved.settings.fidelity = fidelity;  // it is written next to the result
  std::optional<ReplicaStep> replica;
  if (is_of_replicas(resolved)) replica = replica_step(resolved, options, steady);
  Training training = has_servers(resolved.settings.sync)
                          ? train_with_servers(resolved, settings, counts, steady, replica, options.learn)
                          : train_in_step(resolved, settings, counts, steady, options.learn);
  std::vector<OrderLog> logs = std::move(training.logs);
  Run run = run_from(std::move(resolved), std::move(training), std::move(steady));
  if (!logs.empty()) {
    if (!absent.empty()) {
      for (OrderLog& log : logs) log = without_absent(log, absent);
    }
    run.learning = learning_from(run.experiment, logs, settings.rule, updates_of(run)->ranks_per_worker);
  }
  return run;
}

}  // namespace trainyard
