#pragma once
// Machines for the tests of this folder, and the time of a plan on them without other traffic.

#include "collectives/plan.hpp"
#include "config/document.hpp"
#include "platform/channels.hpp"
#include "platform/load.hpp"
#include "platform/shipped_platform.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace trainyard {

/// Nodes of one GPU and one NIC on the described fabric.
inline Cluster single_gpus(int nodes, const std::string& fabric) {
  const std::string node = R"(name: box
node:
  gpus: {count: 1, profile: some_gpu}
  devices: {nic: {count: 1}}
  links:
    - {between: [gpu0, nic0], kind: pcie5, bandwidth: 100 TB/s, latency: 1 ns}
)";
  return make_cluster(load_platform(config::parse("box.yaml", node + "fabric: " + fabric + "\n")), nodes);
}

/// Hosts with one full-duplex port each on a switch that never blocks: the network of the formulas.
inline Cluster flat_cluster(int nodes, double gigabytes_per_s = 10, double microseconds = 5) {
  return single_gpus(nodes, fmt::format("{{kind: single_switch, nic: {} GB/s, latency: {} us}}",
                                        gigabytes_per_s, microseconds));
}

/// Nodes of 2 GPUs or more, with a NIC each: 10 GB/s and 4 us from each to any other, inside nodes over
/// NVLinks and between them.
inline Cluster even_cluster(
    int nodes, int gpus, const std::string& fabric = "{kind: single_switch, nic: 10 GB/s, latency: 2 us}") {
  const std::string text = fmt::format(R"(name: box
node:
  gpus: {{count: {0}, profile: some_gpu}}
  devices: {{nvswitch: {{count: 1}}, nic: {{count: {0}}}, cpu: {{count: 1}}}}
  links:
    - {{between: ["gpu[0-{1}]", nvswitch], kind: nvlink2, bandwidth: 10 GB/s, latency: 2 us}}
    - {{between: ["gpu[0-{1}]", "nic[0-{1}]"], pairing: in_order, kind: pcie4, bandwidth: 100 GB/s, latency: 1 us}}
    - {{between: ["gpu[0-{1}]", cpu], kind: pcie4, bandwidth: 100 GB/s, latency: 1 us}}
    - {{between: ["nic[0-{1}]", cpu], kind: pcie4, bandwidth: 100 GB/s, latency: 1 us}}
fabric: {2}
)",
                                       gpus, gpus - 1, fabric);
  return make_cluster(load_platform(config::parse("box.yaml", text)), nodes);
}

/// A shipped platform.
inline Cluster shipped_cluster(const std::string& name, int nodes, int gpus = 0) {
  return make_cluster(testing::shipped_platform(name), nodes, gpus);
}

inline CollectiveRequest over_all_ranks(const Cluster& cluster, Operation operation, int root = 0) {
  return {.operation = operation, .group = all_ranks(cluster), .root = Rank{root}};
}

/// By formula, phase after phase.
inline Seconds time_alone(const Cluster& cluster, const CollectivePlan& plan, Bytes size) {
  std::vector<Bandwidth> capacities;
  for (std::uint32_t link = 0; link < link_count(cluster); ++link)
    capacities.push_back(capacity(cluster, LinkId{link}));
  const Collective made = collective(plan, size, 0);
  Seconds time = made.overhead;
  for (const CollectivePhase& phase : made.phases) {
    const std::vector<LinkUse> uses = link_uses(plan.patterns[at(phase.pattern)]);
    time += closed_form(phase, std::min(lockstep_rate(uses, capacities), phase.limit));
  }
  return time;
}

}  // namespace trainyard
