#pragma once
// Servers on hosts of one switch, simulated in processes of their own.

#include "engine/in_child.hpp"
#include "engine/time_per_update.hpp"
#include "engine/training.hpp"
#include "platform/load.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace trainyard::testing {

inline constexpr double nic = 10e9;
inline constexpr double way_latency = 5e-6;  ///< from GPU to the memory of another host

/// Nodes of one GPU and one CPU; the path inside a node costs almost nothing.
inline Cluster hosts(int nodes) {
  const std::string text = fmt::format(R"(name: box
node:
  gpus: {{count: 1, profile: some_gpu}}
  devices: {{nic: {{count: 1}}, cpu: {{count: 1}}}}
  links:
    - {{between: [gpu0, cpu0], kind: pcie4, bandwidth: 1000 GB/s, latency: 1 us}}
    - {{between: [nic0, cpu0], kind: pcie4, bandwidth: 1000 GB/s, latency: 1 us}}
fabric: {{kind: single_switch, nic: {} GB/s, latency: {} us}}
)",
                                       nic / 1e9, way_latency * 1e6 - 3);
  return make_cluster(load_platform(config::parse("box.yaml", text)), nodes);
}

/// Nodes of two GPUs on one CPU.
inline constexpr const char* two_gpus = R"(name: box
node:
  gpus: {count: 2, profile: some_gpu}
  devices: {nic: {count: 1}, cpu: {count: 1, memory_bandwidth: 100 GB/s}}
  links:
    - {between: ["gpu[0-1]", cpu0], kind: pcie4, bandwidth: 10 GB/s, latency: 1 us}
    - {between: [nic0, cpu0], kind: pcie4, bandwidth: 10 GB/s, latency: 1 us}
fabric: {kind: single_switch, nic: 1 GB/s, latency: 1 us}
)";

/// How often a way names each link; all memories are called "memory".
inline std::map<std::string, int> named(const Cluster& cluster, const ServerWay& way) {
  std::map<std::string, int> times;
  for (const int link : way.links) {
    const auto number = static_cast<std::uint32_t>(link);
    ++times[number < link_count(cluster) ? link_name(cluster, LinkId{number}) : "memory"];
  }
  return times;
}

inline ServerMessage one_message(double bytes, int shards) {
  ServerMessage message{.ready_op = 0, .bytes = Bytes{bytes / shards}, .shards = {}};
  for (int shard = 0; shard < shards; ++shard) message.shards.push_back(shard);
  return message;
}

struct Setup {
  int workers = 4;
  int worker_nodes = 4;
  int nodes = 4;
  int shards = 1;
  ServerPlacement placement = ServerPlacement::hosts;
  double bytes = 64e6;
  double compute = 0;
  UpdateSettings rule = {};
  Randomness random = {};
  int repeats = 1;
  std::int64_t warmup = 2;
  std::int64_t measured = 3;
  std::vector<double> ready = {1};  ///< by message, for messages of equal bytes
  std::vector<double> needed = {0};
  bool by_priority = false;
  LoadingTimes loading = {};
  OrderLogOptions log = {};
  PullTime pull = PullTime::per_tensor;
  bool is_message_of_one_shard = false;  ///< message i goes to shard i alone
  bool on_simgrid = false;
};

inline ServerRecord train(const Setup& setup) {
  const Cluster cluster = hosts(setup.nodes);
  std::vector<ServerMessage> messages(setup.ready.size(), one_message(setup.bytes, setup.shards));
  for (std::size_t i = 0; setup.is_message_of_one_shard && i < messages.size(); ++i)
    messages[i].shards = {static_cast<int>(i)};
  const ServerPlan plan = plan_servers(cluster, setup.workers, setup.worker_nodes, setup.placement, messages);
  std::vector<int> nodes(static_cast<std::size_t>(setup.workers));
  std::iota(nodes.begin(), nodes.end(), 0);
  std::vector<StepTimes> times;
  for (int repeat = 0; repeat < setup.repeats; ++repeat)
    times.emplace_back(std::vector<Seconds>{Seconds{setup.compute}}, nodes, setup.random, repeat);
  UpdateSettings rule = setup.rule;
  rule.workers = setup.workers;
  return run_with_servers(
      rule, times,
      {.plan = &plan,
       .ready = setup.ready,
       .needed = setup.needed,
       .by_priority = setup.by_priority,
       .pull = setup.pull,
       .on_simgrid = setup.on_simgrid},
      {.warmup = setup.warmup, .measured = setup.measured, .loading = setup.loading, .log = setup.log});
}

/// The results of a run in a separate process.
struct Numbers {
  double time_per_update = 0;
  double sent = 0;  ///< by all NICs, per update, warm-up included
  double waiting = 0, communicating = 0, computing = 0, wasted = 0;
  double oldest = 0;
  double flows = 0;
};

inline Numbers numbers(const Setup& setup) {
  return in_child<Numbers>([&] {
    const ServerRecord record = train(setup);
    const TrainingRecord& first = record.repeats.back();
    Numbers result{.time_per_update = time_per_update(first), .flows = static_cast<double>(record.flows)};
    const Cluster cluster = hosts(setup.nodes);
    for (std::uint32_t link = 0; link < link_count(cluster); ++link) {
      if (link_name(cluster, LinkId{link}).ends_with("->fabric")) result.sent += record.link_bytes[link];
    }
    result.sent /= static_cast<double>(setup.warmup + setup.measured) * setup.repeats;
    for (const WorkerRecord& worker : first.workers) {
      result.waiting += worker.waiting.si();
      result.communicating += worker.communicating.si();
      result.computing += worker.computing.si();
      result.wasted += worker.wasted.si();
    }
    result.oldest = static_cast<double>(first.staleness.size()) - 1;
    return result;
  });
}

}  // namespace trainyard::testing
