#pragma once
// A platform times a number of nodes, with ranks on GPUs: the network of the collectives. Links are numbered,
// not stored one by one, so 8,192 GPUs cost nothing until a route asks for a link. The schedule uses channels
// (channels.hpp) and routes, the engine capacities.

#include "config/diagnostic.hpp"
#include "platform/fabric_network.hpp"
#include "platform/link_values.hpp"
#include "platform/node_routes.hpp"
#include "platform/platform.hpp"
#include "units/ids.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Two GPUs of the machine cannot reach each other.
class Unreachable : public JobImpossible {
  using JobImpossible::JobImpossible;
};

struct Cluster {
  Platform platform;
  int nodes = 1;
  std::vector<int> gpus_on_node;  ///< number of ranks on each node; ranks take a node's GPUs in order
  std::vector<int> first_rank;    ///< by node, with the total at the end
  int like_first = 0;             ///< number of leading nodes with as many ranks as the first
  NodeRoutes inside;              ///< paths through one node; all nodes are the same
  Network network;                ///< links between the NICs

  [[nodiscard]] int ranks() const { return first_rank.back(); }
  [[nodiscard]] NodeId node_of(Rank rank) const;
  [[nodiscard]] DeviceId gpu_of(Rank rank) const;
};

/// `nodes` whole nodes cut to `gpus` ranks taken in node order, at most `gpus_per_node` on each
/// (0: all). Nodes without ranks are left out. Throws InputError that names the available number if more GPUs
/// or places in the fabric are requested than exist; its key_path is the argument that is wrong.
Cluster make_cluster(Platform platform, int nodes, int gpus = 0, int gpus_per_node = 0);

/// Number of nodes that make_cluster() gives ranks, for counts that it does not refuse.
int used_nodes(const Platform& platform, int nodes, int gpus, int gpus_per_node);

/// Throws InputError, at "nodes", if some of the nodes would have no ranks.
void require_ranks_on_all_nodes(const Platform& platform, int nodes, int gpus, int gpus_per_node);

/// Nodes with the given numbers of ranks, at least one node and one rank on each. Throws InputError as above.
Cluster make_cluster(Platform platform, std::vector<int> gpus_on_node);

/// Number of directed links: LinkId runs from 0 to this. Node by node the two directions of the node's links
/// and then of its NICs (outwards, inwards), then those of the fabric.
std::uint32_t link_count(const Cluster& cluster);

/// The capacity in the simulation: the link's effective rate, all lanes.
Bandwidth capacity(const Cluster& cluster, LinkId link);

/// The capacities of all links.
LinkValues<Bandwidth> link_capacities(const Cluster& cluster);

/// Links of a node and its NICs: LinkIds of the same link on two neighbouring nodes differ by this.
std::uint32_t links_per_node(const Cluster& cluster);

/// The number of a NIC's link to the fabric, or from it, among the links of its node.
std::uint32_t nic_link_in_node(const Cluster& cluster, int nic, bool is_inwards);

/// The number of the fabric's first link: those of all nodes come before.
std::uint32_t first_fabric_link(const Cluster& cluster);

/// Whether a group is all ranks of the cluster, equally many on each of its nodes.
bool fills_alike_nodes(const Cluster& cluster, std::span<const Rank> group);

/// Parallel lanes of a link inside a node; 1 for links of the fabric.
int lanes(const Cluster& cluster, LinkId link);

/// The rate by specification, for bounds.
Bandwidth specified_bandwidth(const Cluster& cluster, LinkId link);

/// Whether the capacity rests on an assumed figure of the platform file.
bool is_assumed(const Cluster& cluster, LinkId link);

/// "node0.gpu3->nvswitch0", "node2.nic1->fabric", "fabric->node2.nic1", "leaf0->core", "core->leaf0".
std::string link_name(const Cluster& cluster, LinkId link);

/// "nvlink3", "pcie4"; "network" for links between NICs and the fabric, and inside the fabric.
std::string_view link_medium(const Cluster& cluster, LinkId link);

/// The node of a link inside it or of one of its NICs; empty inside the fabric.
std::optional<NodeId> node_of(const Cluster& cluster, LinkId link);

/// The link with that name; empty if there is none.
std::optional<LinkId> find_link(const Cluster& cluster, std::string_view name);

/// True for links between NICs and the fabric, and inside the fabric.
bool is_fabric(const Cluster& cluster, LinkId link);

/// A route without its links.
struct RouteSummary {
  Seconds latency;            ///< sum of the links' latencies
  PathType type = best_path;  ///< the worst medium of the route: between nodes always the network
  /// Upper limit of one connection's rate, independent of the links.
  Bandwidth limit{std::numeric_limits<double>::infinity()};
  Seconds beyond_usual = {};  ///< inside a node: NodePath::beyond_usual
};

struct Route : RouteSummary {
  std::vector<LinkId> links;  ///< directed, in travel order
};

/// In place of the number of a NIC: each GPU uses the one nearest to it, without PXN.
inline constexpr int own_nics = -2;

/// The route from one GPU to another: inside a node the fewest hops, NVLink before PCIe, never through a
/// third GPU; between nodes through NIC number `nic` on both (-1: the NIC nearest to each GPU), which
/// sender_through() feeds. On a rail-optimised fabric with PXN and without `nic`, data for another rail first
/// takes NVLinks, if there are any, to a rank's GPU near that rail's NIC. The route from a rank to itself has
/// no links. The opposite route has the same links, reversed, except on a torus, on a custom fabric and with
/// PXN, where different links may be equally short. Throws Unreachable if there is no route.
Route route(const Cluster& cluster, Rank from, Rank to, int nic = -1);

/// The parts of a route between two nodes that lie inside them. They depend on the GPUs' numbers in their
/// nodes alone if the nodes have equally many ranks.
struct WayBetween {
  const NodePath* to_sender = nullptr;  ///< to the GPU that hands data to the NIC; null: the rank's own
  const NodePath* out = nullptr;
  const NodePath* in = nullptr;
  int nic_out = -1;
  int nic_in = -1;
};

/// The way of append_route() between ranks of different nodes. Throws Unreachable if there is none inside the
/// nodes.
WayBetween way_between(const Cluster& cluster, Rank from, Rank to, int nic);

/// The route over the way, whose fabric part takes `across`, without its links.
RouteSummary route_over(const Cluster& cluster, const WayBetween& way, Seconds across);

/// The number in its node of the GPU that hands data of `rank` to NIC `nic`. It is the rank's own GPU if no
/// CPU lies between them. Otherwise it is a GPU with a rank, without a CPU between it and the NIC, to which
/// NVLinks lead (NCCL's PXN, since 2.12; older versions leave through the NIC near `rank`, NCCL_CROSS_NIC, at
/// the same rates: NVIDIA/nccl src/graph/paths.cc and search.cc). NCCL takes a GPU of the group; this
/// function takes the one of the same place. If there is none, it is the rank's own GPU.
int sender_through(const Cluster& cluster, Rank rank, int nic);

/// The way between two ranks of one node.
const NodePath& path_inside(const Cluster& cluster, Rank from, Rank to);

/// The memory of a CPU, where a parameter server keeps its shard.
struct HostMemory {
  NodeId node{};
  int cpu = 0;  ///< numbered as in Platform::cpus
};

/// Appends the route from a GPU to the memory of a CPU to `links`; between nodes through the NICs nearest to
/// both. Throws Unreachable if there is none.
RouteSummary append_route(const Cluster& cluster, Rank from, HostMemory to, std::vector<LinkId>& links);

/// The opposite direction.
RouteSummary append_route(const Cluster& cluster, HostMemory from, Rank to, std::vector<LinkId>& links);

/// Between the memories of two nodes, through the NICs nearest to the CPUs; no links for the same CPU. Not
/// between two CPUs of a node. Throws Unreachable if there is none.
RouteSummary append_route(const Cluster& cluster, HostMemory from, HostMemory to, std::vector<LinkId>& links);

/// As `route`, but appends the links to `links`: for unions over many edges without an allocation for each.
RouteSummary append_route(const Cluster& cluster, Rank from, Rank to, int nic, std::vector<LinkId>& links);

}  // namespace trainyard
