#include "study/simulate_training.hpp"

#include "config/write.hpp"
#include "engine/training.hpp"
#include "schedule/step_plan.hpp"
#include "study/shared_network.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace trainyard {

namespace {

// With fidelity flow a worker sends and fetches about as many messages in a step; with the others each tensor
// or piece of one alone.
constexpr int most_messages = 16;

bool has_servers(const Inputs& inputs) { return inputs.experiment.sync.kind == SyncKind::parameter_server; }

/// The workers' machine, with further nodes for the servers where they have their own.
Cluster cluster_with_servers(const Inputs& inputs) {
  Cluster workers = cluster_of(inputs);
  const Sync& sync = inputs.experiment.sync;
  if (!has_servers(inputs) || sync.placement.value_or(ServerPlacement::hosts) != ServerPlacement::own_nodes)
    return workers;
  std::vector<int> gpus_on_node = workers.gpus_on_node;
  gpus_on_node.insert(gpus_on_node.end(), at(sync.shards.value_or(1)), 1);
  return make_cluster(std::move(workers.platform), std::move(gpus_on_node));
}

/// One rank alone for runs with servers, all of them in lock step otherwise.
Result steady_step(const Inputs& inputs, const SimulateOptions& options) {
  Inputs steady = inputs;
  steady.experiment.sync = {.algorithm = inputs.experiment.sync.algorithm};
  steady.experiment.random = {};
  if (!has_servers(inputs)) {
    // Parameters are averaged after the last local step: behind nothing.
    if (inputs.experiment.sync.update == UpdateRule::local_sgd) {
      steady.stack.overlap = false;
      steady.stack.gradient_dtype = GradientDtype::fp32;
    }
    return simulate_step(steady, options);
  }
  // The optimizer runs on the servers.
  std::erase_if(steady.trace.ops, [](const Op& op) { return op.phase == Phase::optimizer; });
  steady.experiment.nodes = 1;
  steady.experiment.gpus = 1;
  steady.experiment.gpus_per_node = std::nullopt;
  return simulate_step(steady, {.fidelity = Fidelity::closed, .fold = options.fold});
}

std::vector<Seconds> worker_ops(const Result& steady) {
  std::vector<Seconds> ops;
  for (const LayerRow& layer : steady.layers) ops.push_back(layer.duration);
  return ops;
}

/// By message: the part of a worker's step after which its gradient is complete.
std::vector<double> ready_parts(const Inputs& inputs, const Result& steady,
                                const std::vector<ServerMessage>& messages) {
  std::vector<Seconds> ends;
  Seconds now;
  for (const LayerRow& layer : steady.layers) ends.push_back(now += layer.duration);
  std::vector<double> parts;
  for (const ServerMessage& message : messages)
    parts.push_back(inputs.stack.overlap ? ends[at(message.ready_op)] / now : 1);
  return parts;
}

/// Steps of all ranks, as updates: where every update begins all of them anew it is a step of all, otherwise
/// it takes as many updates to use up a gradient of each.
TrainingOptions options_of(const UpdateSettings& settings, const StepCounts& steps) {
  const int per_update = gradients_per_update(settings);
  const auto updates = [&](int count) -> std::int64_t {
    if (is_synchronous(settings.rule)) return count;
    return (static_cast<std::int64_t>(count) * settings.workers + per_update - 1) / per_update;
  };
  return {.warmup = updates(steps.warmup), .measured = updates(steps.measured)};
}

std::vector<StepTimes> step_times(const Inputs& inputs, const Cluster& cluster, int workers,
                                  const std::vector<Seconds>& ops, int repeats) {
  std::vector<int> nodes;
  for (int rank = 0; rank < workers; ++rank) nodes.push_back(index(cluster.node_of(Rank{rank})));
  std::vector<StepTimes> times;
  for (int repeat = 0; repeat < repeats; ++repeat)
    times.emplace_back(ops, nodes, inputs.experiment.random, repeat);
  return times;
}

double time_per_update(const TrainingRecord& record) {
  return (record.ended - record.begun).si() / static_cast<double>(record.updates);
}

/// Index of the repeat with the median time, the lower one of two.
std::size_t median_of(const std::vector<TrainingRecord>& repeats) {
  std::vector<std::size_t> order(repeats.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return time_per_update(repeats[i]); });
  return order[(order.size() - 1) / 2];
}

TrainingReport report_of(const std::vector<TrainingRecord>& repeats, const Cluster& cluster,
                         const UpdateSettings& settings, const StepCounts& steps) {
  const TrainingRecord& median = repeats[median_of(repeats)];
  TrainingReport report;
  report.settings = settings;
  report.steps = steps;
  report.staleness = median.staleness;
  report.updates = median.updates;
  report.measured = median.ended - median.begun;
  report.update_time = {.median = time_per_update(median), .low = time_per_update(median), .high = 0};
  for (const TrainingRecord& repeat : repeats) {
    report.update_time.low = std::min(report.update_time.low, time_per_update(repeat));
    report.update_time.high = std::max(report.update_time.high, time_per_update(repeat));
  }
  // All of n independent runs on one side of the median: 2 in 2^n.
  report.confidence = repeats.size() > 1 ? 1 - std::ldexp(1.0, 1 - static_cast<int>(repeats.size())) : 0;
  report.gradients_per_update = static_cast<double>(median.gradients) / static_cast<double>(median.updates);
  double sum = 0;
  for (std::size_t age = 0; age < median.staleness.size(); ++age)
    sum += static_cast<double>(age) * static_cast<double>(median.staleness[age]);
  report.staleness_mean = sum / static_cast<double>(median.gradients);
  report.staleness_max = static_cast<int>(median.staleness.size()) - 1;
  report.lead = median.lead;
  for (std::size_t worker = 0; worker < median.workers.size(); ++worker) {
    const WorkerRecord& its = median.workers[worker];
    const Rank rank{static_cast<int>(worker)};
    report.workers.push_back({.rank = rank,
                              .node = cluster.node_of(rank),
                              .computing = its.computing,
                              .communicating = its.communicating,
                              .waiting = its.waiting,
                              .wasted = its.wasted,
                              .gradients = its.gradients});
    report.wasted += its.wasted / static_cast<double>(median.updates);
  }
  return report;
}

/// What the summary says of one step, said of many updates.
void describe(const Inputs& inputs, const Cluster& cluster, Result& result) {
  const TrainingReport& training = *result.training;
  result.resolved = inputs.experiment;
  result.resolved.gpus = training.settings.workers;
  result.resolved_experiment = config::write(result.resolved);
  result.ranks = training.settings.workers;
  result.nodes = cluster.nodes;
  const double samples_per_step =
      static_cast<double>(inputs.experiment.batch_per_gpu) * inputs.experiment.accumulation;
  const double samples_per_gradient = samples_per_step * training.settings.push_every;
  result.global_batch = std::llround(samples_per_gradient * training.gradients_per_update);
  result.step_time = Seconds{training.update_time.median};
  result.throughput = samples_per_gradient * training.gradients_per_update / result.step_time.si();
  result.speedup = result.throughput * result.one_rank_step_time.si() / samples_per_step;
  result.scaling_efficiency = result.speedup / result.ranks;
  if (result.epoch_time) result.epoch_time = Seconds{*inputs.samples_per_epoch / result.throughput};
  if (result.tokens_per_second) result.tokens_per_second = result.throughput * *inputs.model->sequence_length;

  Seconds computing;
  Seconds communicating;
  result.rank_rows.clear();
  for (const WorkerRow& worker : training.workers) {
    result.rank_rows.push_back({.rank = worker.rank,
                                .node = worker.node,
                                .gpu = cluster.platform.node[cluster.gpu_of(worker.rank)].name,
                                .compute = worker.computing,
                                .communication = worker.communicating,
                                .end = training.measured});
    computing += worker.computing;
    communicating += worker.communicating;
  }
  result.gpu_utilization = computing / (training.measured * static_cast<double>(result.ranks));
  const double steps =
      static_cast<double>(training.updates) * training.gradients_per_update * training.settings.push_every;
  result.communication_time = result.exposed_communication = communicating / steps;
  result.achieved_flops_per_gpu =
      result.model_flops * (result.throughput / result.ranks / samples_per_step) / Seconds{1};
  if (result.model_flops_utilization)
    result.model_flops_utilization =
        result.achieved_flops_per_gpu / peak_rate(inputs.gpu, inputs.experiment.precision);
  result.communication_overhead = result.step_time - result.one_rank_step_time;
  if (!is_synchronous(training.settings.rule) || training.settings.push_every > 1)
    leave_out(result, {"communication_overhead_s"}, "an update is no step of every rank");
  result.lower_bound = {};
  leave_out(result, {"lower_bound_s"}, "of runs with servers or random times none is known");
  result.energy_per_step.reset();
  std::erase_if(result.notes, [](const std::string& note) { return note.starts_with("energy:"); });
  result.average_power.reset();
  leave_out(result, {"energy_per_step_j", "average_power_w"},
            "energy is integrated over one steady step only");
  result.cost.reset();
  if (const auto reason = cost_unknown(inputs.platform, result.epoch_time)) {
    leave_out(result, {"cost_per_epoch_usd"}, *reason);
  } else {
    result.cost = epoch_cost(inputs.platform, cluster.nodes, *result.epoch_time);
  }
}

std::vector<TrainingRecord> without_network(const UpdateSettings& settings, std::vector<StepTimes>& times,
                                            const TrainingOptions& options, Result& result) {
  std::vector<TrainingRecord> repeats;
  for (StepTimes& each : times) {
    repeats.push_back(run_without_network(settings, each, options));
    result.events += repeats.back().events;
  }
  return repeats;
}

/// The update rule alone.
void train_freely(const Inputs& inputs, const Cluster& cluster, const UpdateSettings& settings,
                  const StepCounts& steps, const TrainingOptions& options, std::vector<StepTimes>& times,
                  Result& result) {
  result.events = 0;
  const std::vector<TrainingRecord> repeats = without_network(settings, times, options, result);
  result.training = report_of(repeats, cluster, settings, steps);
  describe(inputs, cluster, result);
  set_links(result, {});
}

/// What the links carried for an update, on average over all repeats from beginning to end.
void add_links(const Cluster& cluster, const ServerPlan& plan, const ServerRecord& record, double updates,
               Result& result) {
  Timeline timeline;
  timeline.makespan = record.ended / updates;
  timeline.link_bytes.assign(record.link_bytes.begin(), record.link_bytes.begin() + link_count(cluster));
  for (double& bytes : timeline.link_bytes) bytes /= updates;
  set_links(result, link_rows(cluster, capacities(cluster), timeline, {}));
  for (const ServerPlan::Memory& memory : plan.memories) {
    const double carried = record.link_bytes[at(memory.link)];
    result.training->servers.push_back(
        {memory.name, carried / (plan.links[at(memory.link)].si() * record.ended.si())});
  }
}

/// What of the stack and the trace is for collectives alone.
std::vector<std::string> unused_with_servers(const Inputs& inputs) {
  std::vector<std::string> notes;
  const Stack& stack = inputs.stack;
  if (stack.fusion || stack.bucket_first || stack.bucket_cap)
    notes.emplace_back("the stack's buckets and fusion are not used: servers take each tensor by itself");
  if (std::ranges::any_of(inputs.trace.ops, [](const Op& op) { return !op.communication_bytes.empty(); }))
    notes.emplace_back("the trace's own communication is not used: its gradients go to servers");
  return notes;
}

void train_with_servers(const Inputs& inputs, const UpdateSettings& settings, const StepCounts& steps,
                        Result& result) {
  const Sync& sync = inputs.experiment.sync;
  const ServerPlacement placement = sync.placement.value_or(ServerPlacement::hosts);
  const Cluster cluster = cluster_with_servers(inputs);
  const TrainingOptions training = options_of(settings, steps);
  std::vector<StepTimes> times =
      step_times(inputs, cluster, settings.workers, worker_ops(result), steps.repeats);
  result.collectives.clear();
  result.timeline.clear();
  for (std::string& note : unused_with_servers(inputs)) result.notes.push_back(std::move(note));
  if (placement == ServerPlacement::own_nodes && inputs.platform.price_per_hour)
    result.notes.emplace_back("the servers' nodes are counted, and paid for, as nodes of the platform");
  if (placement == ServerPlacement::free) {
    train_freely(inputs, cluster, settings, steps, training, times, result);
    return;
  }
  const Bytes value =
      size_of(inputs.stack.gradient_dtype, element_sizes(inputs.experiment.precision).gradient);
  std::vector<ServerMessage> messages =
      server_messages(ready_gradients(inputs.trace), value, sync.shards.value_or(1), inputs.stack.servers);
  if (inputs.experiment.fidelity == Fidelity::flow) messages = joined_messages(messages, most_messages);
  const int worker_nodes = index(cluster.node_of(Rank{settings.workers - 1})) + 1;
  const ServerPlan plan =
      plan_servers(cluster, settings.workers, worker_nodes, placement, std::move(messages));
  const std::vector<double> ready = ready_parts(inputs, result, plan.messages);
  const ServerRecord record = run_with_servers(settings, times, {.plan = &plan, .ready = ready}, training);
  result.training = report_of(record.repeats, cluster, settings, steps);
  describe(inputs, cluster, result);
  const auto updates = static_cast<double>((training.warmup + training.measured) * steps.repeats);
  add_links(cluster, plan, record, updates, result);
  result.events = record.repeats.back().events + record.flows;
  result.notes.insert(result.notes.end(), plan.notes.begin(), plan.notes.end());
}

/// All-reduces: the last rank to come lets the exposed communication of a steady step begin.
void train_in_step(const Inputs& inputs, const UpdateSettings& settings, const StepCounts& steps,
                   Result& result) {
  const Cluster cluster = cluster_of(inputs);
  std::vector<StepTimes> times =
      step_times(inputs, cluster, settings.workers, worker_ops(result), steps.repeats);
  TrainingOptions options = options_of(settings, steps);
  options.exchange = result.exposed_communication;
  const std::vector<TrainingRecord> repeats = without_network(settings, times, options, result);
  const double steady = result.step_time.si();
  result.training = report_of(repeats, cluster, settings, steps);
  describe(inputs, cluster, result);
  // What a step puts on the links is the same, in another time.
  const double slower = result.step_time.si() / steady;
  result.network_utilization /= slower;
  result.link_utilization_max /= slower;
  for (LinkRow& link : result.links) link.utilization /= slower;
  result.notes.emplace_back(
      "the communication that one steady step exposes is added after the slowest rank's compute");
}

}  // namespace

Result simulate_training(const Inputs& inputs, const SimulateOptions& options) {
  const UpdateSettings settings = update_settings(inputs.experiment.sync, cluster_of(inputs).ranks());
  if (has_others(inputs)) {
    throw InputError("neighbours, background and events are simulated beside one steady step only",
                     "leave them out, or update: sync with nothing random");
  }
  for (const SlowNode& slow : inputs.experiment.random.slow) {
    if (slow.node < cluster_of(inputs).nodes) continue;
    throw InputError(fmt::format("random.slow names node {}, the job has nodes 0 to {}", slow.node,
                                 cluster_of(inputs).nodes - 1));
  }
  StepCounts steps = inputs.experiment.steps;
  if (!is_random(inputs.experiment.random)) steps.repeats = 1;  // all would be alike
  const Fidelity fidelity = options.fidelity.value_or(inputs.experiment.fidelity);
  if (has_servers(inputs) && fidelity == Fidelity::closed) {
    throw InputError("fidelity closed knows no servers: what they take depends on who sends when",
                     "fidelity: flow, rounds or steps");
  }
  Result result = steady_step(inputs, options);
  result.fidelity = std::string(config::name_of(fidelity));
  Inputs used = inputs;
  used.experiment.fidelity = fidelity;  // what is written beside the result
  if (has_servers(inputs))
    train_with_servers(used, settings, steps, result);
  else
    train_in_step(used, settings, steps, result);
  return result;
}

}  // namespace trainyard
