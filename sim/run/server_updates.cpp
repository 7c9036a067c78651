#include "run/server_updates.hpp"

#include "experiment/stack_rules.hpp"
#include "experiment/workers.hpp"
#include "limits/run_limits.hpp"
#include "run/checks.hpp"
#include "run/fixed_share.hpp"
#include "run/learning.hpp"
#include "run/update_setup.hpp"
#include "run/worker_messages.hpp"
#include "units/plural.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

// Every tensor, or piece of one, is a flow. With fidelity flow, which users do not choose, no job takes many
// minutes.
constexpr double most_flows = 4e7;

/// The workers' machine, with additional nodes for servers that do not run on the workers' nodes.
std::shared_ptr<const Cluster> cluster_with_servers(const ResolvedExperiment& resolved) {
  const Sync& sync = resolved.settings.sync;
  if (!has_servers(sync) || placement_of(sync) != ServerPlacement::own_nodes) return resolved.cluster;
  std::vector<int> gpus_on_node = resolved.cluster->gpus_on_node;
  gpus_on_node.insert(gpus_on_node.end(), at(shards_of(sync)), 1);
  return std::make_shared<const Cluster>(make_cluster(resolved.platform, std::move(gpus_on_node)));
}

/// Bytes on the links per update, averaged over all repeats from beginning to end. `inside`: the bytes that
/// replicas send among their own ranks in a second, by link; empty: none.
LinkTraffic links_of(const Cluster& cluster, const ServerRecord& record, double updates,
                     const std::vector<double>& inside) {
  Timeline timeline;
  timeline.makespan = record.ended / updates;
  std::vector<double> all(record.link_bytes.begin(), record.link_bytes.begin() + link_count(cluster));
  for (double& bytes : all) bytes /= updates;
  for (std::size_t link = 0; link < inside.size(); ++link) all[link] += inside[link] * timeline.makespan.si();
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
  if (!resolved.layout && std::ranges::any_of(only_class(resolved).trace.ops,
                                              [](const Op& op) { return !op.communications.empty(); }))
    notes.emplace_back("the communication of the trace is not used: gradients go to servers");
  if (resolved.layout) {
    notes.push_back(fmt::format(
        "a worker is a replica of {}; each exchanges its part of the model with its part of the shards. A "
        "replica whose rank waits for parameters waits as a whole, its own messages keep their pace, and "
        "those to servers have the part of each link that these leave on average",
        plural(ranks_per_worker, "rank")));
  } else if (ranks_per_worker > 1) {
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
  std::vector<ServerMessage> messages = worker_messages(resolved);
  if (resolved.settings.fidelity == Fidelity::flow) require_few_flows(settings, counts, messages.size());
  return messages;
}

/// Workers and servers whose links replicas use for messages among their own ranks, too.
class SharedLinks {
public:
  SharedLinks(const UpdateSettings& settings, const ServerTraining& training, const ReplicaStep& step,
              std::vector<double> bytes)
      : settings_(settings), training_(training), step_(step), bytes_(std::move(bytes)) {}

  /// The part of the time in which replicas send: as long as they compute, to busy_tolerance. The rest that
  /// they leave of the links decides how long they wait, and so how much of the time they compute. `times`:
  /// of a worker's steps.
  FixedShare busy(const StepTimes& times, const TrainingOptions& few) const {
    if (std::ranges::all_of(bytes_, [](double bytes) { return bytes <= 0; })) return {};
    return fixed_share([&](double share) { return computing(share, times, few); }, busy_tolerance);
  }

  ServerRecord run(double busy, std::vector<StepTimes>& times, const TrainingOptions& options,
                   bool on_simgrid) const {
    ServerPlan left = *training_.plan;
    share_links(step_, bytes_, busy, left);
    ServerTraining training = training_;
    training.plan = &left;
    training.on_simgrid = on_simgrid;
    return run_with_servers(settings_, times, training, options);
  }

  /// Bytes that replicas send among their own ranks in a second, by link.
  [[nodiscard]] std::vector<double> rates(double busy) const {
    std::vector<double> rates = bytes_;
    for (double& of_link : rates) of_link *= busy / step_.time.si();
    return rates;
  }

private:
  double computing(double busy, const StepTimes& times, const TrainingOptions& few) const {
    std::vector<StepTimes> fresh{times};
    const ServerRecord record = run(busy, fresh, few, false);
    Seconds sum;
    for (const WorkerRecord& worker : record.repeats.front().workers) sum += worker.computing;
    const Seconds all = record.repeats.front().ended - record.repeats.front().begun;
    return sum / (settings_.workers * all);
  }

  const UpdateSettings& settings_;
  const ServerTraining& training_;
  const ReplicaStep& step_;
  std::vector<double> bytes_;
};

std::string jump_note(const FixedShare& busy) {
  return fmt::format(
      "the messages among a replica's ranks take their part of the links for {} of the time, but replicas "
      "then compute for {}: no share of the time is equal to that which follows from it",
      percent(busy.share), percent(busy.share + busy.off));
}

/// Steps that say how much of the time workers compute.
TrainingOptions few_steps(const UpdateSettings& settings, const StepCounts& counts,
                          const TrainingOptions& options) {
  TrainingOptions few = training_options(
      settings, {.warmup = std::min(counts.warmup, 3), .measured = std::min(counts.measured, 10)});
  few.loading = options.loading;
  return few;
}

/// The updates of all repeats, and the links' traffic.
void train(const ResolvedExperiment& resolved, const UpdateSettings& settings, const StepCounts& counts,
           const ServerTraining& servers, const std::optional<ReplicaStep>& replica,
           const TrainingOptions& options, std::vector<StepTimes>& times, Training& training) {
  const bool on_simgrid = resolved.settings.fidelity == Fidelity::messages;
  const Cluster& cluster = *training.cluster;
  std::vector<double> inside;
  ServerRecord record;
  if (replica) {
    const SharedLinks shared(settings, servers, *replica,
                             replica_bytes(*replica, *resolved.cluster, cluster));
    const bool overlaps = resolved.stack.overlap || traits(settings.rule).in_background;
    const FixedShare busy =
        overlaps ? shared.busy(times.front(), few_steps(settings, counts, options)) : FixedShare{};
    if (std::abs(busy.off) > busy_tolerance) training.notes_before.push_back(jump_note(busy));
    record = shared.run(busy.share, times, options, on_simgrid);
    inside = shared.rates(busy.share);
  } else {
    record = run_with_servers(settings, times, servers, options);
  }
  training.updates = updates_from(record.repeats, cluster, settings, ranks_per_worker(resolved), counts);
  training.updates.servers = servers_of(*servers.plan, record);
  training.updates.network = on_simgrid ? NetworkEngine::simgrid : NetworkEngine::fair_shares;
  training.links = links_of(cluster, record, static_cast<double>(record.updates), inside);
  require_none(violations(record.repeats, training.links.rows, {}));
  training.events = record.repeats.back().events + record.flows;
}

}  // namespace

bool is_of_replicas(const ResolvedExperiment& resolved) {
  return has_servers(resolved.settings.sync) && resolved.layout.has_value();
}

double server_message_count(const ResolvedExperiment& resolved) {
  const UpdateSettings settings = update_settings(resolved.settings.sync, workers_of(resolved));
  const StepCounts& counts = resolved.settings.steps;
  const auto messages = static_cast<double>(messages_of(resolved, settings, counts).size());
  return 2 * messages * settings.workers * (counts.warmup + counts.measured) * counts.repeats;
}

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

Training train_with_servers(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                            const StepCounts& counts, const Run& steady,
                            const std::optional<ReplicaStep>& replica, bool learns) {
  Training training;
  training.cluster = cluster_with_servers(resolved);
  const Cluster& cluster = *training.cluster;
  TrainingOptions options = training_options(settings, counts);
  const int per_worker = ranks_per_worker(resolved);
  const int ranks = settings.workers * per_worker;
  training.notes_before = server_notes(resolved, per_worker, steady.energy.has_value());
  const std::vector<Seconds> ops =
      replica ? std::vector<Seconds>{replica->time} : worker_ops(step_of(steady));
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
  const ServerPlan plan =
      plan_servers(cluster, settings.workers, worker_nodes, placement,
                   messages_of(resolved, settings, counts), resolved.stack.servers, replica ? per_worker : 1);
  expect(expected_events(resolved, settings, ops.size(), &plan), events_of_steps, {}, fewer_steps);
  training.load =
      host_load(plan, worker_nodes, static_cast<int>(cluster.platform.cpus.size()), settings.push_every);
  options.loading = loading_times(resolved, cluster, settings.workers, training.load);
  MessageParts parts = replica ? message_parts(resolved, *replica, plan.messages)
                               : message_parts(resolved, step_of(steady), plan.messages);
  train(resolved, settings, counts,
        {.plan = &plan,
         .ready = std::move(parts.ready),
         .needed = std::move(parts.needed),
         .by_priority = resolved.stack.servers.priority,
         .pull = resolved.stack.servers.pull,
         .on_simgrid = resolved.settings.fidelity == Fidelity::messages},
        replica, options, times, training);
  training.updates.loaded_shard = loaded_shard(resolved, plan.messages);
  training.notes_after = plan.notes;
  return training;
}

}  // namespace trainyard
