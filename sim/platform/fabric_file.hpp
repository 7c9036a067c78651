#pragma once
// The fabric of a platform file as written: structs that mirror the YAML, and their key tables.

#include "platform/names.hpp"
#include "platform/plausible_limits.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct TreeLevelFile {
  Sourced<int> nodes_per_switch;
  Sourced<double> oversubscription{.value = 1};
};

struct FabricLinkFile {
  std::vector<std::string> between;
  Sourced<Bandwidth> bandwidth;
  std::optional<Sourced<Seconds>> latency;
};

/// Keys of all kinds; those missing from a file are empty.
struct FabricFile {
  FabricKind kind{};
  Transport transport = Transport::infiniband;
  std::optional<Sourced<Bandwidth>> nic;
  Sourced<double> efficiency{.value = 1};
  std::optional<Sourced<Seconds>> latency;
  std::optional<Sourced<Bandwidth>> per_flow;
  Sourced<bool> gpudirect{.value = true};
  std::optional<Sourced<Seconds>> hop_latency;
  std::optional<Sourced<int>> nodes_per_leaf;
  std::optional<Sourced<double>> oversubscription;
  std::vector<TreeLevelFile> levels;
  std::optional<Sourced<int>> nodes_per_rail;
  std::optional<Sourced<bool>> pxn;
  std::vector<int> dimensions;
  std::optional<Sourced<Bandwidth>> link;
  std::optional<Sourced<int>> groups, routers_per_group, nodes_per_router;
  std::optional<Sourced<Bandwidth>> local_link, global_link;
  std::vector<std::string> switches;
  std::vector<FabricLinkFile> links;
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<TreeLevelFile> {
  static auto table() {
    return keys(
        required("nodes_per_switch", &TreeLevelFile::nodes_per_switch, "nodes below one switch of this level")
            .at_least(1)
            .at_most(most_nodes),
        optional("oversubscription", &TreeLevelFile::oversubscription,
                 "bandwidth into a switch from below over bandwidth upwards; 1 never blocks")
            .at_least(1)
            .at_most(1e6));
  }
};

template <>
struct Keys<FabricLinkFile> {
  static auto table() {
    return keys(required("between", &FabricLinkFile::between,
                         "two ends, each a switch, a NIC (node0.nic0) or a list (\"node[0-3].nic0\")"),
                required("bandwidth", &FabricLinkFile::bandwidth, "by specification, per direction")
                    .above(0)
                    .at_most(most_bandwidth),
                optional("latency", &FabricLinkFile::latency, "added to fabric.latency; default: none")
                    .at_least(0)
                    .at_most(most_latency));
  }
};

template <>
struct Keys<FabricFile> {
  static auto table() {
    return keys(
        required("kind", &FabricFile::kind, "how the nodes are joined"),
        optional("transport", &FabricFile::transport, "what carries messages: decides what software adds"),
        optional("nic", &FabricFile::nic,
                 "by specification, per NIC and direction; required unless kind is none")
            .above(0)
            .at_most(most_bandwidth),
        optional("efficiency", &FabricFile::efficiency,
                 "part of nic, and of the fabric's links, that collectives reach")
            .above(0)
            .at_most(1),
        optional("latency", &FabricFile::latency,
                 "from NIC to NIC, one way, all switches included; required unless kind is none")
            .above(0)
            .at_most(most_latency),
        optional("per_flow", &FabricFile::per_flow, "what one connection reaches; default: all of nic")
            .above(0)
            .at_most(most_bandwidth),
        optional("gpudirect", &FabricFile::gpudirect,
                 "NICs read and write GPU memory; false: data goes through host memory on both sides"),
        optional("hop_latency", &FabricFile::hop_latency,
                 "added to latency for each link crossed between switches or routers")
            .at_least(0)
            .at_most(most_latency),
        optional("nodes_per_leaf", &FabricFile::nodes_per_leaf,
                 "of a fat_tree of one level: nodes on one leaf switch; default: 16")
            .at_least(1)
            .at_most(most_nodes),
        optional(
            "oversubscription", &FabricFile::oversubscription,
            "bandwidth into a leaf or rail from its nodes over bandwidth upwards; default: 1, never blocks")
            .at_least(1)
            .at_most(1e6),
        optional("levels", &FabricFile::levels, "of a fat_tree: its levels of switches, lowest first"),
        optional("nodes_per_rail", &FabricFile::nodes_per_rail,
                 "of rail_optimised: nodes of a unit, whose NICs of one number share a switch")
            .at_least(1)
            .at_most(most_nodes),
        optional("pxn", &FabricFile::pxn,
                 "of rail_optimised: data for another rail takes NVLinks to the GPU beside that rail's NIC"),
        optional("dimensions", &FabricFile::dimensions,
                 "of a torus: routers along x, y (and z), one per node")
            .at_least(1)
            .at_most(most_nodes),
        optional("link", &FabricFile::link, "of a torus: each link between routers, per direction")
            .above(0)
            .at_most(most_bandwidth),
        optional("groups", &FabricFile::groups, "of a dragonfly").at_least(1).at_most(4096),
        optional("routers_per_group", &FabricFile::routers_per_group, "of a dragonfly")
            .at_least(1)
            .at_most(4096),
        optional("nodes_per_router", &FabricFile::nodes_per_router, "of a dragonfly")
            .at_least(1)
            .at_most(4096),
        optional("local_link", &FabricFile::local_link,
                 "of a dragonfly: between two routers of a group, per direction")
            .above(0)
            .at_most(most_bandwidth),
        optional("global_link", &FabricFile::global_link,
                 "of a dragonfly: between two groups, all cables together, per direction")
            .above(0)
            .at_most(most_bandwidth),
        optional("switches", &FabricFile::switches,
                 "of custom: names of the switches, or lists (\"leaf[0-3]\")"),
        optional("links", &FabricFile::links, "of custom: what joins switches and NICs, full duplex"));
  }
};

}  // namespace trainyard::config
