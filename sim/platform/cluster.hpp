#pragma once
// A platform times a number of nodes, and where the ranks sit: the network that collectives run on. Links are
// numbered, never stored one by one, so that 8,192 GPUs cost nothing until a route asks for a link.
// The schedule asks for channels (channels.hpp) and routes, the engine for capacities.

#include "config/diagnostic.hpp"
#include "platform/fabric_network.hpp"
#include "platform/node_routes.hpp"
#include "platform/platform.hpp"
#include "units/ids.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Two GPUs of the machine have no way to each other.
class Unreachable : public JobImpossible {
  using JobImpossible::JobImpossible;
};

struct Cluster {
  Platform platform;
  int nodes = 1;
  std::vector<int> gpus_on_node;  ///< how many ranks each node holds; ranks take a node's GPUs in order
  std::vector<int> first_rank;    ///< of each node, plus the total at the end
  int like_first = 0;             ///< nodes from the first on that hold as many ranks as it
  NodeRoutes inside;              ///< the ways through one node; all nodes are alike
  FabricNetwork network;          ///< what lies between the NICs

  [[nodiscard]] int ranks() const { return first_rank.back(); }
  [[nodiscard]] NodeId node_of(Rank rank) const;
  [[nodiscard]] DeviceId gpu_of(Rank rank) const;
};

/// `nodes` whole nodes cut to `gpus` ranks taken in node order, at most `gpus_per_node` on each
/// (0 means all there are). Nodes left without a rank are left out. Throws InputError with what exists when
/// more is asked for than there is, of GPUs or of places in the fabric.
Cluster make_cluster(Platform platform, int nodes, int gpus = 0, int gpus_per_node = 0);

/// Nodes with so many ranks each, at least one of either. Throws InputError as above.
Cluster make_cluster(Platform platform, std::vector<int> gpus_on_node);

/// Number of directed links: LinkId runs from 0 to this. Node by node the two directions of the node's links
/// and then of its NICs (outwards, inwards), then those of the fabric.
std::uint32_t link_count(const Cluster& cluster);

/// What the simulation lets through: the link's effective rate, all lanes.
Bandwidth capacity(const Cluster& cluster, LinkId link);

/// Parallel lanes of a link inside a node; 1 for links of the fabric.
int lanes(const Cluster& cluster, LinkId link);

/// What the specification promises, for bounds.
Bandwidth specified_bandwidth(const Cluster& cluster, LinkId link);

/// "node0.gpu3->nvswitch0", "node2.nic1->fabric", "fabric->node2.nic1", "leaf0->core", "core->leaf0".
std::string link_name(const Cluster& cluster, LinkId link);

/// The link of that name; nothing if there is none.
std::optional<LinkId> find_link(const Cluster& cluster, std::string_view name);

/// True for NIC-fabric links and the links inside the fabric.
bool is_fabric(const Cluster& cluster, LinkId link);

/// What a route is besides its links.
struct RouteSummary {
  Seconds latency;                    ///< sum of the links' latencies
  PathType type = PathType::nvlink4;  ///< the worst medium on the way: between nodes always the network
  /// What one connection reaches at most, whatever its links could carry.
  Bandwidth limit{std::numeric_limits<double>::infinity()};
};

struct Route : RouteSummary {
  std::vector<LinkId> links;  ///< directed, in travel order
};

/// The way from one GPU to another: inside a node the fewest hops, NVLink before PCIe, never through a third
/// GPU; between nodes through NIC number `nic` on both (-1: the NIC nearest to each GPU). On a rail-optimised
/// fabric with PXN and no `nic` asked for, data for another rail first takes NVLinks to the GPU of a rank
/// beside that rail's NIC, if they lead there. A rank's way to itself has no links. The way back has the same
/// links, reversed, but on a torus, a custom fabric and with PXN, where others are as short. Throws
/// Unreachable if there is none.
Route route(const Cluster& cluster, Rank from, Rank to, int nic = -1);

/// The memory of a CPU, where a parameter server keeps its shard.
struct HostMemory {
  NodeId node{};
  int cpu = 0;  ///< numbered as in Platform::cpus
};

/// The way from a GPU to the memory of a CPU, appended to `links`; between nodes through the NIC nearest to
/// either. Throws Unreachable if there is none.
RouteSummary append_route(const Cluster& cluster, Rank from, HostMemory to, std::vector<LinkId>& links);

/// And back.
RouteSummary append_route(const Cluster& cluster, HostMemory from, Rank to, std::vector<LinkId>& links);

/// Between the memories of two nodes, through the NICs nearest to the CPUs; of the same CPU no links. Not
/// between two CPUs of a node. Throws Unreachable if there is none.
RouteSummary append_route(const Cluster& cluster, HostMemory from, HostMemory to, std::vector<LinkId>& links);

/// As `route`, with the links appended to `links`: for unions over many edges without an allocation for each.
RouteSummary append_route(const Cluster& cluster, Rank from, Rank to, int nic, std::vector<LinkId>& links);

}  // namespace trainyard
