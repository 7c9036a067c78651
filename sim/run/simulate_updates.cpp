#include "engine/training.hpp"
#include "experiment/shared_network.hpp"
#include "experiment/stack_rules.hpp"
#include "experiment/workers.hpp"
#include "limits/run_limits.hpp"
#include "run/checks.hpp"
#include "run/energy.hpp"
#include "run/learning.hpp"
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
#include <map>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

// Every tensor, or piece of one, is a flow. With fidelity flow, which users do not choose, no job takes many
// minutes.
constexpr double most_flows = 4e7;
constexpr std::string_view events_of_steps = "steps, ops and messages of workers";
constexpr std::string_view fewer_steps = "fewer 'steps.measured' or 'steps.repeats' take less";

/// The workers' machine, with additional nodes for servers that do not run on the workers' nodes.
std::shared_ptr<const Cluster> cluster_with_servers(const ResolvedExperiment& resolved) {
  const Sync& sync = resolved.settings.sync;
  if (!has_servers(sync) || placement_of(sync) != ServerPlacement::own_nodes) return resolved.cluster;
  std::vector<int> gpus_on_node = resolved.cluster->gpus_on_node;
  gpus_on_node.insert(gpus_on_node.end(), at(shards_of(sync)), 1);
  return std::make_shared<const Cluster>(make_cluster(resolved.platform, std::move(gpus_on_node)));
}

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

/// Indexed by message, as fractions of a worker's step.
struct MessageParts {
  std::vector<double> ready;   ///< fraction after which the message's gradients are complete
  std::vector<double> needed;  ///< fraction that can be computed without the message's parameters
};

/// Without overlap everything is pushed after backward and pulled before forward.
MessageParts message_parts(const ResolvedExperiment& resolved, const Step& steady,
                           const std::vector<ServerMessage>& messages) {
  std::vector<Seconds> ends;
  Seconds now;
  for (const OpRow& op : slowest_class(steady).ops) ends.push_back(now += op.duration);
  MessageParts parts;
  for (const ServerMessage& message : messages) {
    const bool is_first = message.needed_op == 0;
    parts.ready.push_back(resolved.stack.overlap ? ends[at(message.ready_op)] / now : 1);
    parts.needed.push_back(resolved.stack.overlap && !is_first ? ends[at(message.needed_op - 1)] / now : 0);
  }
  return parts;
}

/// The simulated updates, from which the Run is made.
struct Training {
  Updates updates;
  std::shared_ptr<const Cluster> cluster;  ///< with the servers' nodes
  HostLoad load;                           ///< load of the servers on the workers' hosts
  LinkTraffic links;
  std::uint64_t events = 0;
  std::vector<OrderLog> logs;                          ///< by repeat, if there is something to learn
  std::vector<std::string> notes_before, notes_after;  ///< the notes on the updates stand between these
};

std::vector<TrainingRecord> without_network(const UpdateSettings& settings, std::vector<StepTimes>& times,
                                            TrainingOptions options, std::uint64_t& events) {
  std::vector<TrainingRecord> repeats;
  for (StepTimes& each : times) {
    options.repeat = static_cast<int>(repeats.size());
    repeats.push_back(run_without_network(settings, each, options));
    events += repeats.back().events;
  }
  return repeats;
}

/// Bytes on the links per update, averaged over all repeats from beginning to end.
LinkTraffic links_of(const Cluster& cluster, const ServerRecord& record, double updates) {
  Timeline timeline;
  timeline.makespan = record.ended / updates;
  std::vector<double> all(record.link_bytes.begin(), record.link_bytes.begin() + link_count(cluster));
  for (double& bytes : all) bytes /= updates;
  timeline.link_bytes = std::move(all);
  return link_traffic(link_rows(cluster, link_capacities(cluster), timeline, {}));
}

std::vector<ServerRow> servers_of(const ServerPlan& plan, const ServerRecord& record) {
  std::vector<ServerRow> servers;
  for (const ServerPlan::Resource& resource : plan.resources) {
    const double carried = record.link_bytes[at(resource.link)];
    servers.push_back({resource.name, carried / (plan.links[at(resource.link)].si() * record.ended.si())});
  }
  return servers;
}

/// Notes on keys of the stack and the trace that apply only to collectives, and on nodes that hold servers.
std::vector<std::string> server_notes(const ResolvedExperiment& resolved, int ranks_per_worker,
                                      bool has_energy) {
  std::vector<std::string> notes = unused_with_servers(resolved.stack);
  if (std::ranges::any_of(only_class(resolved).trace.ops,
                          [](const Op& op) { return !op.communications.empty(); }))
    notes.emplace_back("the communication of the trace is not used: gradients go to servers");
  if (ranks_per_worker > 1) {
    notes.push_back(fmt::format("{} sums the gradients of a node: its {} GPUs push and pull together",
                                resolved.stack.name, ranks_per_worker));
  }
  const bool is_apart = placement_of(resolved.settings.sync) == ServerPlacement::own_nodes;
  if (is_apart && resolved.platform.price.hour)
    notes.emplace_back("nodes of servers cost as much as nodes of the platform");
  if (is_apart && has_energy)
    notes.emplace_back("energy: nodes of servers are counted without their idle GPUs");
  return notes;
}

void require_few_flows(const UpdateSettings& settings, const StepCounts& counts, std::size_t messages) {
  const double steps = static_cast<double>(counts.warmup + counts.measured) * counts.repeats;
  const double flows = 2 * static_cast<double>(messages) * settings.workers * steps;
  if (flows <= most_flows) return;
  throw InputError(
      fmt::format(
          "{} workers that push and pull {} messages in each of {:.0f} steps are {:.3g} million flows, "
          "more than {:.0f} million",
          settings.workers, messages, steps, flows / 1e6, most_flows / 1e6),
      "take fewer steps (steps: {measured: ..., repeats: 1}); fidelity: rounds simulates any number of "
      "flows");
}

std::vector<ServerMessage> messages_of(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                                       const StepCounts& counts) {
  const Bytes value = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
  std::vector<ServerMessage> messages =
      server_messages(ready_gradients(only_class(resolved).trace), value, shards_of(resolved.settings.sync),
                      resolved.stack.servers);
  if (resolved.settings.fidelity == Fidelity::flow) require_few_flows(settings, counts, messages.size());
  return messages;
}

/// The shard with most bytes, if these are more than 1.5 times the mean: it then limits the others.
std::optional<LoadedShard> loaded_shard(const Trace& trace, const std::vector<ServerMessage>& messages,
                                        int shards) {
  constexpr double much_more = 1.5;
  std::vector<Bytes> bytes(at(shards));
  LoadedShard loaded{.shard = 0, .shards = shards, .bytes = {}, .all = {}, .layer = {}, .of_layer = {}};
  for (const ServerMessage& message : messages) {
    for (const int shard : message.shards) bytes[at(shard)] += message.bytes;
    loaded.all += static_cast<double>(message.shards.size()) * message.bytes;
  }
  const auto most = std::ranges::max_element(bytes);
  if (*most * static_cast<double>(shards) <= much_more * loaded.all) return std::nullopt;
  loaded.shard = static_cast<int>(most - bytes.begin());
  loaded.bytes = *most;
  std::map<std::string, Bytes> layers;
  for (const ServerMessage& message : messages) {
    if (std::ranges::find(message.shards, loaded.shard) == message.shards.end()) continue;
    const std::string& layer = trace.ops[at(message.ready_op)].layer;
    Bytes& of_layer = layers[layer];
    of_layer += message.bytes;
    if (of_layer <= loaded.of_layer) continue;
    loaded.of_layer = of_layer;
    loaded.layer = layer;
  }
  return loaded;
}

Training train_with_servers(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                            const StepCounts& counts, const Run& steady, bool learns) {
  Training training;
  training.cluster = cluster_with_servers(resolved);
  const Cluster& cluster = *training.cluster;
  TrainingOptions options = training_options(settings, counts);
  const int per_worker = ranks_per_worker(resolved);
  const int ranks = settings.workers * per_worker;
  training.notes_before = server_notes(resolved, per_worker, steady.energy.has_value());
  const std::vector<Seconds> ops = worker_ops(step_of(steady));
  std::vector<StepTimes> times = step_times(resolved, cluster, ranks, ops, counts.repeats);
  options.log = order_logs(resolved, settings, counts, times.front().nominal(), learns, training.logs);
  options.choose_k = k_choice(resolved, settings, per_worker);
  const ServerPlacement placement = placement_of(resolved.settings.sync);
  if (placement == ServerPlacement::free) {
    expect(expected_events(resolved, settings, ops.size(), nullptr), events_of_steps, {}, fewer_steps);
    options.loading = loading_times(resolved, cluster, settings.workers, {});
    const auto repeats = without_network(settings, times, options, training.events);
    require_none(violations(repeats, {}, {}));
    training.updates = updates_from(repeats, cluster, settings, per_worker, counts);
    return training;
  }
  const int worker_nodes = index(cluster.node_of(Rank{ranks - 1})) + 1;
  std::vector<ServerMessage> messages = messages_of(resolved, settings, counts);
  const ServerPlan plan = plan_servers(cluster, settings.workers, worker_nodes, placement,
                                       std::move(messages), resolved.stack.servers);
  expect(expected_events(resolved, settings, ops.size(), &plan), events_of_steps, {}, fewer_steps);
  training.load =
      host_load(plan, worker_nodes, static_cast<int>(cluster.platform.cpus.size()), settings.push_every);
  options.loading = loading_times(resolved, cluster, settings.workers, training.load);
  MessageParts parts = message_parts(resolved, step_of(steady), plan.messages);
  const ServerRecord record =
      run_with_servers(settings, times,
                       {.plan = &plan,
                        .ready = std::move(parts.ready),
                        .needed = std::move(parts.needed),
                        .by_priority = resolved.stack.servers.priority,
                        .pull = resolved.stack.servers.pull,
                        .on_simgrid = resolved.settings.fidelity == Fidelity::messages},
                       options);
  training.updates = updates_from(record.repeats, cluster, settings, per_worker, counts);
  training.updates.servers = servers_of(plan, record);
  training.updates.loaded_shard =
      loaded_shard(only_class(resolved).trace, plan.messages, shards_of(resolved.settings.sync));
  training.updates.network =
      resolved.settings.fidelity == Fidelity::messages ? NetworkEngine::simgrid : NetworkEngine::fair_shares;
  training.links = links_of(cluster, record, static_cast<double>(record.updates));
  require_none(violations(record.repeats, training.links.rows, {}));
  training.events = record.repeats.back().events + record.flows;
  training.notes_after = plan.notes;
  return training;
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
  options.loading = loading_times(resolved, *resolved.cluster, settings.workers, {});
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

Pace pace_of(const ResolvedExperiment& resolved, const Updates& updates, const Run& steady, int ranks) {
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

/// Ranks draw the power of their ops while they compute and idle power otherwise; the nodes' other power is
/// added.
EnergyUse energy_of(const ResolvedExperiment& resolved, const Updates& updates, int nodes, Watts computing) {
  const Watts idle = state_powers(resolved.gpu).waiting;
  Joules sum =
      static_cast<double>(nodes) * node_overhead(resolved.platform, resolved.gpu)->value * updates.measured;
  for (const WorkerRow& worker : updates.workers)
    sum += computing * worker.computing + idle * (updates.measured - worker.computing);
  const Joules energy = sum / static_cast<double>(updates.measured_updates);
  return {energy, energy / updates.time.median};
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
  run.matrix = matrix_work(resolved, run.pace.throughput / run.ranks / samples_per_step(resolved));
  run.memory = std::move(steady.memory);
  run.energy = std::move(steady.energy);
  updates.wasted_energy = unknown("the power of the ranks is not known");
  if (run.energy) {
    const Watts computing = computing_power(slowest_class(step_of(steady)).ops, resolved.gpu);
    run.energy = energy_of(resolved, updates, run.nodes, computing);
    updates.wasted_energy = computing * updates.wasted;
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
  const UpdateSettings settings = update_settings(resolved.settings.sync, workers_of(resolved));
  const StepCounts& counts = resolved.settings.steps;
  const auto messages = static_cast<double>(messages_of(resolved, settings, counts).size());
  return 2 * messages * settings.workers * (counts.warmup + counts.measured) * counts.repeats;
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
  Training training = has_servers(resolved.settings.sync)
                          ? train_with_servers(resolved, settings, counts, steady, options.learn)
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
