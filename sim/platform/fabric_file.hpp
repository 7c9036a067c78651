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

struct FabricLinkFile {
  std::vector<std::string> between;
  Sourced<Bandwidth> bandwidth;
  std::optional<Sourced<Seconds>> latency;
};

struct SharedLinkFile {
  std::string name;
  Sourced<Bandwidth> bandwidth;
};

struct RouteEndsFile {
  std::string nic;
  std::vector<std::string> out, in;
};

struct ListedRouteFile {
  std::string from, to;
  std::vector<std::string> over;
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
  Sourced<bool> redirected{.value = false};
  std::optional<Sourced<Seconds>> hop_latency;
  std::optional<Sourced<int>> nodes_per_leaf;
  std::optional<Sourced<double>> oversubscription;
  std::vector<TreeLevel> levels;
  std::optional<Sourced<int>> nodes_per_rail;
  std::optional<Sourced<bool>> pxn;
  std::vector<int> dimensions;
  std::optional<Sourced<Bandwidth>> link;
  std::optional<Sourced<int>> groups, routers_per_group, nodes_per_router;
  std::optional<Sourced<Bandwidth>> local_link, global_link;
  std::vector<std::string> switches;
  std::vector<FabricLinkFile> links;
  std::vector<SharedLinkFile> shared_links;
  std::vector<RouteEndsFile> ends;
  std::vector<ListedRouteFile> routes;
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<TreeLevel> {
  static auto table() {
    return keys(
        required("nodes_per_switch", &TreeLevel::nodes_per_switch,
                 "nodes below one switch of this level, a multiple of the level below")
            .between(1, most_nodes),
        optional("oversubscription", &TreeLevel::oversubscription,
                 "bandwidth into a switch from below divided by its bandwidth upwards; 1: never blocks")
            .between(1, 1e6));
  }
};

template <>
struct Keys<FabricLinkFile> {
  static auto table() {
    return keys(
        required("between", &FabricLinkFile::between,
                 "two ends, each a switch, a NIC (node0.nic0) or a list (\"node[0-3].nic0\")"),
        required("bandwidth", &FabricLinkFile::bandwidth, "specified bandwidth per direction")
            .between(least_bandwidth, most_bandwidth),
        optional("latency", &FabricLinkFile::latency, "latency added to fabric.latency; default: none")
            .between(0, most_latency));
  }
};

template <>
struct Keys<SharedLinkFile> {
  static auto table() {
    return keys(required("name", &SharedLinkFile::name, "name by which ends and routes refer to the link"),
                required("bandwidth", &SharedLinkFile::bandwidth,
                         "specified bandwidth, for all that crosses the link in either direction")
                    .between(least_bandwidth, most_bandwidth));
  }
};

template <>
struct Keys<RouteEndsFile> {
  static auto table() {
    return keys(required("nic", &RouteEndsFile::nic, "a NIC (node0.nic0) or a list (\"node[0-3].nic0\")"),
                optional("out", &RouteEndsFile::out, "links with which each route out of it begins"),
                optional("in", &RouteEndsFile::in, "links with which each route into it ends"));
  }
};

template <>
struct Keys<ListedRouteFile> {
  static auto table() {
    return keys(
        required("from", &ListedRouteFile::from, "a NIC or a list of them, as in ends"),
        required("to", &ListedRouteFile::to, "the same; each of 'from' reaches each other of 'to'"),
        optional("over", &ListedRouteFile::over, "links between the two ends, in order"),
        optional("latency", &ListedRouteFile::latency, "latency added to fabric.latency; default: none")
            .between(0, most_latency));
  }
};

template <>
struct Keys<FabricFile> {
  static auto table() {
    return keys(
        required("kind", &FabricFile::kind, "topology of the network"),
        optional("transport", &FabricFile::transport,
                 "network technology; determines the software's cost per message"),
        optional("nic", &FabricFile::nic,
                 "specified bandwidth per NIC and direction; required unless kind is none")
            .between(least_bandwidth, most_bandwidth),
        optional("efficiency", &FabricFile::efficiency,
                 "fraction of the bandwidth of NICs and of the fabric's links that collectives reach")
            .positive(1),
        optional("latency", &FabricFile::latency,
                 "one-way latency from NIC to NIC, all switches included; required unless kind is none")
            .between(least_latency, most_latency),
        optional("per_flow", &FabricFile::per_flow,
                 "highest bandwidth of one connection (AWS, TCP in clouds); the rings of a node have one "
                 "connection per rank; default: all of nic")
            .between(least_bandwidth, most_bandwidth),
        optional(
            "gpudirect", &FabricFile::gpudirect,
            "whether NICs access GPU memory directly; false: data goes through host memory on both sides"),
        optional("redirected", &FabricFile::redirected,
                 "with gpudirect: whether PCIe access control (ACS) sends data between GPU and NIC up to the "
                 "CPU's root port and back, so that it crosses the links above its switch twice"),
        optional("hop_latency", &FabricFile::hop_latency,
                 "latency added for each link crossed between switches or routers")
            .between(0, most_latency),
        optional("nodes_per_leaf", &FabricFile::nodes_per_leaf,
                 "for a fat_tree of one level: nodes per leaf switch, in order; traffic below one leaf does "
                 "not use its uplink; default: 16")
            .between(1, most_nodes),
        optional("oversubscription", &FabricFile::oversubscription,
                 "for fat_tree and rail_optimised: bandwidth into a leaf or rail from its nodes divided by "
                 "its bandwidth upwards; default: 1, never blocks")
            .between(1, 1e6),
        optional("levels", &FabricFile::levels, "for a fat_tree: its levels of switches, lowest first"),
        optional("nodes_per_rail", &FabricFile::nodes_per_rail,
                 "for rail_optimised: nodes per unit; NICs with the same number in a unit share a switch")
            .between(1, most_nodes),
        optional("pxn", &FabricFile::pxn,
                 "for rail_optimised: data for another rail first takes NVLinks to the GPU near that rail's "
                 "NIC (NCCL's PXN); false: it crosses the spine; rings keep to one rail in any case"),
        optional("dimensions", &FabricFile::dimensions,
                 "for a torus: routers along x, y (and z), one per node")
            .between(1, most_nodes),
        optional("link", &FabricFile::link,
                 "for a torus: bandwidth of each link between routers, per direction")
            .between(least_bandwidth, most_bandwidth),
        optional("groups", &FabricFile::groups, "of a dragonfly: groups of routers").between(1, 4096),
        optional("routers_per_group", &FabricFile::routers_per_group,
                 "of a dragonfly: routers of a group, which fill groups in order")
            .between(1, 4096),
        optional("nodes_per_router", &FabricFile::nodes_per_router,
                 "of a dragonfly: nodes of a router, which fill routers in order")
            .between(1, 4096),
        optional("local_link", &FabricFile::local_link,
                 "for a dragonfly: bandwidth between two routers of a group, per direction")
            .between(least_bandwidth, most_bandwidth),
        optional("global_link", &FabricFile::global_link,
                 "for a dragonfly: bandwidth between two groups, all cables together, per direction")
            .between(least_bandwidth, most_bandwidth),
        optional("switches", &FabricFile::switches,
                 "for custom: names of the switches, or lists (\"leaf[0-3]\")"),
        optional("links", &FabricFile::links, "for custom: links between switches and NICs, full duplex"),
        optional("shared_links", &FabricFile::shared_links,
                 "for routes: the links by name; one with a rate for each direction is two of them"),
        optional("ends", &FabricFile::ends,
                 "for routes: the links with which all routes of a NIC begin and end"),
        optional("routes", &FabricFile::routes,
                 "for routes: the way from NIC to NIC, by the last entry that has both; without one nothing "
                 "can be sent"));
  }
};

}  // namespace trainyard::config
