#pragma once
// Nodes of one or two GPUs and NICs on every kind of fabric, for the tests of this folder.

#include "platform/cluster.hpp"
#include "platform/machines.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// A node of `pairs` GPUs, each with a NIC of 100 Gbps on a separate PCIe switch, NVLinks among all GPUs, and
/// a fabric: `{kind: ...}` or block style lines.
inline std::string node_on(const std::string& fabric, int pairs = 1) {
  const std::string last = std::to_string(pairs - 1);
  const std::string count = std::to_string(pairs);
  std::string text = "name: box\nnode:\n  gpus: {count: " + count +
                     ", profile: some_gpu}\n  devices: {cpu: {count: 1}, pcie_switch: {count: " + count +
                     "}, nic: {count: " + count + "}}\n  links:\n";
  const auto add = [&](const std::string& ends, const std::string& rest) {
    text += "    - {between: [" + ends + "], " + rest + "}\n";
  };
  const std::string pcie = "pairing: in_order, kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us";
  add("\"gpu[0-" + last + "]\", \"pcie_switch[0-" + last + "]\"", pcie);
  add("\"nic[0-" + last + "]\", \"pcie_switch[0-" + last + "]\"", pcie);
  add("\"pcie_switch[0-" + last + "]\", cpu", pcie);
  if (pairs > 1)
    add("\"gpu[0-" + last + "]\", \"gpu[0-" + last + "]\"",
        "kind: nvlink2, bandwidth: 25 GB/s, latency: 1 us");
  return text + "fabric:\n" + fabric;
}

inline Platform machine_on(const std::string& fabric, int pairs = 1) {
  return load_box(node_on(fabric, pairs));
}

/// The names of the fabric's links on the route between two ranks, without NIC links.
inline std::vector<std::string> fabric_way(const Cluster& cluster, int from, int to, int nic = -1) {
  std::vector<std::string> names;
  const Route way = route(cluster, Rank{from}, Rank{to}, nic);
  for (const LinkId link : way.links) {
    const std::string name = link_name(cluster, link);
    const bool is_of_nic = name.ends_with("->fabric") || name.starts_with("fabric->");
    if (is_fabric(cluster, link) && !is_of_nic) names.push_back(name);
  }
  return names;
}

inline const std::string single_switch_text = "  {kind: single_switch, nic: 100 Gbps, latency: 2 us}\n";
inline const std::string two_levels_text =
    "  {kind: fat_tree, nic: 100 Gbps, latency: 2 us, hop_latency: 0.1 us,\n"
    "   levels: [{nodes_per_switch: 2, oversubscription: 2}, {nodes_per_switch: 4, oversubscription: 3}]}\n";
inline const std::string rails_text =
    "  {kind: rail_optimised, nic: 100 Gbps, latency: 2 us, hop_latency: 0.1 us, nodes_per_rail: 4, "
    "oversubscription: 2, pxn: true}\n";
inline const std::string torus2d_text =
    "  {kind: torus2d, nic: 100 Gbps, latency: 1 us, hop_latency: 0.1 us, dimensions: [5, 4], link: 80 "
    "Gbps}\n";
inline const std::string torus3d_text =
    "  {kind: torus3d, nic: 100 Gbps, latency: 1 us, hop_latency: 0.1 us, dimensions: [3, 2, 4], link: 80 "
    "Gbps}\n";
inline const std::string dragonfly_text =
    "  {kind: dragonfly, transport: aries, nic: 100 Gbps, latency: 1 us, hop_latency: 0.1 us, groups: 5,\n"
    "   routers_per_group: 4, nodes_per_router: 2, local_link: 5 GB/s, global_link: 20 GB/s}\n";
inline const std::string custom_text =
    "  kind: custom\n"
    "  nic: 100 Gbps\n"
    "  latency: 1.5 us\n"
    "  switches: [\"leaf[0-2]\", \"spine[0-1]\"]\n"
    "  links:\n"
    "    - {between: [\"node[0-1].nic0\", leaf0], bandwidth: 100 Gbps}\n"
    "    - {between: [\"node[2-3].nic0\", leaf1], bandwidth: 50 Gbps, latency: 0.2 us}\n"
    "    - {between: [node5.nic0, leaf2], bandwidth: 100 Gbps}\n"
    "    - {between: [\"leaf[0-1]\", \"spine[0-1]\"], bandwidth: 200 Gbps, latency: 0.3 us}\n";

}  // namespace trainyard
