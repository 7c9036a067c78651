#include "run/simulate_training.hpp"

#include "config/write.hpp"
#include "engine/training.hpp"
#include "experiment/shared_network.hpp"
#include "experiment/stack_rules.hpp"
#include "run/host_load.hpp"
#include "run/input_report.hpp"
#include "run/other_traffic.hpp"
#include "run/training_report.hpp"
#include "run/training_runs.hpp"
#include "schedule/step_plan.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace trainyard {

namespace {

// With fidelity flow a worker sends and fetches about as many messages in a step, and fewer where that would
// be too many flows; with the others each tensor or piece of one alone.
constexpr double most_messages = 16;
constexpr double least_messages = 2;
constexpr double most_flows = 4e5;

/// The workers' machine, with further nodes for the servers where they have their own.
Cluster cluster_with_servers(const Inputs& inputs) {
  Cluster workers = cluster_of(inputs);
  const Sync& sync = inputs.experiment.sync;
  if (!has_servers(sync) || placement_of(sync) != ServerPlacement::own_nodes) return workers;
  std::vector<int> gpus_on_node = workers.gpus_on_node;
  gpus_on_node.insert(gpus_on_node.end(), at(shards_of(sync)), 1);
  return make_cluster(std::move(workers.platform), std::move(gpus_on_node));
}

/// One rank alone for runs with servers, all of them in lock step otherwise.
Result steady_step(const Inputs& inputs, const SimulateOptions& options) {
  Inputs steady = inputs;
  const Sync& sync = inputs.experiment.sync;
  steady.experiment.sync = {};
  steady.experiment.random = {};
  steady.experiment.input = {};
  if (!has_servers(sync)) {
    steady.experiment.sync = {
        .kind = sync.kind, .algorithm = sync.algorithm, .compression = sync.compression, .keep = sync.keep};
    // Parameters are averaged after the last local step: behind nothing.
    if (sync.update == UpdateRule::local_sgd) {
      steady.stack.overlap = false;
      steady.stack.gradient_dtype = GradientDtype::fp32;
      std::erase_if(steady.stack.gradient_work,
                    [](const GradientPass& pass) { return pass.ranks == PassRanks::many; });
    }
    return simulate_step(steady, options);
  }
  // The optimizer runs on the servers.
  std::erase_if(steady.trace.ops,
                [](const Op& op) { return op.phase == Phase::optimizer && op.kind != OpKind::host; });
  steady.experiment.nodes = 1;
  steady.experiment.gpus = 1;
  steady.experiment.gpus_per_node = std::nullopt;
  return simulate_step(steady, {.fidelity = Fidelity::closed, .fold = options.fold});
}

/// Where GPU 0 updates alone the others have no optimizer ops: what they take goes to the exchange.
struct Shared {
  std::vector<Seconds> ops;  ///< of every rank
  Seconds exchange;
};

Shared shared_ops(const Inputs& inputs, const Result& steady) {
  Shared shared{.ops = {}, .exchange = steady.exposed_communication + steady.compute_slowdown};
  const bool is_alone = inputs.experiment.sync.kind == SyncKind::dataparallel_gpu0;
  for (const LayerRow& layer : steady.layers) {
    if (is_alone && layer.phase == Phase::optimizer)
      shared.exchange += layer.duration;
    else
      shared.ops.push_back(layer.duration);
  }
  return shared;
}

/// By message, as parts of a worker's step.
struct MessageParts {
  std::vector<double> ready;   ///< after which its gradients are complete
  std::vector<double> needed;  ///< that can be computed without its parameters
};

/// Without overlap all is pushed after backward and pulled before forward.
MessageParts message_parts(const Inputs& inputs, const Result& steady,
                           const std::vector<ServerMessage>& messages) {
  std::vector<Seconds> ends;
  Seconds now;
  for (const LayerRow& layer : steady.layers) ends.push_back(now += layer.duration);
  MessageParts parts;
  for (const ServerMessage& message : messages) {
    const bool is_first = message.needed_op == 0;
    parts.ready.push_back(inputs.stack.overlap ? ends[at(message.ready_op)] / now : 1);
    parts.needed.push_back(inputs.stack.overlap && !is_first ? ends[at(message.needed_op - 1)] / now : 0);
  }
  return parts;
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
                  const StepCounts& steps, TrainingOptions options, std::vector<StepTimes>& times,
                  Result& result) {
  result.events = 0;
  options.loading = loading_times(inputs, cluster, settings.workers, {});
  const std::vector<TrainingRecord> repeats = without_network(settings, times, options, result);
  result.training = training_report(repeats, cluster, settings, ranks_per_worker(inputs), steps);
  describe_training(inputs, cluster, result);
  describe_input(inputs, {}, result);
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
  for (const ServerPlan::Resource& resource : plan.resources) {
    const double carried = record.link_bytes[at(resource.link)];
    result.training->servers.push_back(
        {resource.name, carried / (plan.links[at(resource.link)].si() * record.ended.si())});
  }
}

/// What of the stack and the trace is for collectives alone.
std::vector<std::string> unused_with_servers(const Inputs& inputs) {
  std::vector<std::string> notes = unused_with_servers(inputs.stack);
  if (std::ranges::any_of(inputs.trace.ops, [](const Op& op) { return !op.communication_bytes.empty(); }))
    notes.emplace_back("the trace's own communication is not used: its gradients go to servers");
  return notes;
}

int messages_of_flow(const UpdateSettings& settings, const StepCounts& steps) {
  const double pushes =
      static_cast<double>(settings.workers) * (steps.warmup + steps.measured) * steps.repeats;
  return static_cast<int>(std::clamp(most_flows / (2 * pushes), least_messages, most_messages));
}

void train_with_servers(const Inputs& inputs, const UpdateSettings& settings, const StepCounts& steps,
                        Result& result) {
  const Sync& sync = inputs.experiment.sync;
  const ServerPlacement placement = placement_of(sync);
  const Cluster cluster = cluster_with_servers(inputs);
  TrainingOptions training = training_options(settings, steps);
  const int per_worker = ranks_per_worker(inputs);
  const int ranks = settings.workers * per_worker;
  std::vector<StepTimes> times = step_times(inputs, cluster, ranks, worker_ops(result), steps.repeats);
  result.collectives.clear();
  result.timeline.clear();
  for (std::string& note : unused_with_servers(inputs)) result.notes.push_back(std::move(note));
  if (per_worker > 1) {
    result.notes.push_back(fmt::format("{} adds up the gradients of a node: its {} GPUs are one worker",
                                       inputs.stack.name, per_worker));
  }
  if (placement == ServerPlacement::own_nodes && inputs.platform.price_per_hour)
    result.notes.emplace_back("the servers' nodes are paid for as nodes of the platform");
  if (placement == ServerPlacement::own_nodes && result.energy_per_step)
    result.notes.emplace_back("energy: of the servers' nodes the boxes are counted, not their idle GPUs");
  if (placement == ServerPlacement::free) {
    train_freely(inputs, cluster, settings, steps, training, times, result);
    return;
  }
  const Bytes value = size_of(inputs.stack.gradient_dtype, inputs.experiment.precision);
  std::vector<ServerMessage> messages =
      server_messages(ready_gradients(inputs.trace), value, shards_of(sync), inputs.stack.servers);
  if (inputs.experiment.fidelity == Fidelity::flow)
    messages = joined_messages(messages, messages_of_flow(settings, steps));
  const int worker_nodes = index(cluster.node_of(Rank{ranks - 1})) + 1;
  const ServerPlan plan = plan_servers(cluster, settings.workers, worker_nodes, placement,
                                       std::move(messages), inputs.stack.servers);
  const HostLoad load =
      host_load(plan, worker_nodes, static_cast<int>(cluster.platform.cpus.size()), settings.push_every);
  training.loading = loading_times(inputs, cluster, settings.workers, load);
  MessageParts parts = message_parts(inputs, result, plan.messages);
  const ServerRecord record = run_with_servers(settings, times,
                                               {.plan = &plan,
                                                .ready = std::move(parts.ready),
                                                .needed = std::move(parts.needed),
                                                .by_priority = inputs.stack.servers.priority},
                                               training);
  result.training = training_report(record.repeats, cluster, settings, per_worker, steps);
  describe_training(inputs, cluster, result);
  describe_input(inputs, load, result);
  const auto updates = static_cast<double>((training.warmup + training.measured) * steps.repeats);
  add_links(cluster, plan, record, updates, result);
  result.events = record.repeats.back().events + record.flows;
  result.notes.insert(result.notes.end(), plan.notes.begin(), plan.notes.end());
}

/// Collectives: the last rank to come lets the exposed communication of a steady step begin.
void train_in_step(const Inputs& inputs, const UpdateSettings& settings, const StepCounts& steps,
                   Result& result) {
  const Cluster cluster = cluster_of(inputs);
  const Shared shared = shared_ops(inputs, result);
  std::vector<StepTimes> times = step_times(inputs, cluster, settings.workers, shared.ops, steps.repeats);
  TrainingOptions options = training_options(settings, steps);
  options.exchange = shared.exchange;
  options.loading = loading_times(inputs, cluster, settings.workers, {});
  const std::vector<TrainingRecord> repeats = without_network(settings, times, options, result);
  const double steady = result.step_time.si();
  result.training = training_report(repeats, cluster, settings, 1, steps);
  describe_training(inputs, cluster, result);
  describe_input(inputs, {}, result);
  // What a step puts on the links is the same, in another time.
  stretch_links(result, result.step_time.si() / steady);
  result.notes.emplace_back(
      "the communication that one steady step exposes, and what it slows kernels by, is added after the "
      "slowest rank's compute");
  if (inputs.experiment.sync.update == UpdateRule::local_sgd && has_passes_of_many(inputs.stack))
    result.notes.emplace_back("the stack's passes of ranks: many are not used: parameters are averaged");
  if (inputs.experiment.sync.kind == SyncKind::dataparallel_gpu0)
    result.notes.emplace_back("the update on GPU 0, which all wait for, is counted as communication");
}

}  // namespace

Result simulate_training(const Inputs& inputs, const SimulateOptions& options) {
  const Cluster cluster = cluster_of(inputs);
  const UpdateSettings settings = update_settings(inputs.experiment.sync, workers_of(inputs));
  if (has_others(inputs)) {
    throw InputError("neighbours, background and events are simulated beside one steady step only",
                     "leave them out, or update: sync with nothing random");
  }
  for (const SlowNode& slow : inputs.experiment.random.slow) {
    if (slow.node < cluster.nodes) continue;
    throw InputError(
        fmt::format("random.slow names node {}, the job has nodes 0 to {}", slow.node, cluster.nodes - 1));
  }
  StepCounts steps = inputs.experiment.steps;
  if (!is_random(inputs.experiment.random)) steps.repeats = 1;  // all would be alike
  const Fidelity fidelity = options.fidelity.value_or(inputs.experiment.fidelity);
  if (has_servers(inputs.experiment.sync) && fidelity == Fidelity::closed) {
    throw InputError("fidelity closed knows no servers: what they take depends on who sends when",
                     "fidelity: flow, rounds or steps");
  }
  Result result = steady_step(inputs, options);
  result.replay.reset();  // of a step that no rank takes like this
  result.one_rank_step_time =
      with_input(result.one_rank_step_time, input_pipeline(inputs, 1, 1), inputs.experiment.input);
  result.fidelity = std::string(config::name_of(fidelity));
  Inputs used = inputs;
  used.experiment.fidelity = fidelity;  // what is written beside the result
  if (inputs.experiment.random.gpus == GpuSpread::profile) result.notes.push_back(spread_note(inputs.gpu));
  if (has_servers(inputs.experiment.sync))
    train_with_servers(used, settings, steps, result);
  else
    train_in_step(used, settings, steps, result);
  return result;
}

}  // namespace trainyard
