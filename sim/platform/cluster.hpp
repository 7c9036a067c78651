#pragma once
// A platform times a number of nodes, and where the ranks sit: the network that collectives run on. Links are
// numbered, never stored one by one, so that 8,192 GPUs cost nothing until a route asks for a link.
// The schedule asks for channels (channels.hpp) and routes, the engine for capacities.

#include "config/diagnostic.hpp"
#include "platform/node_routes.hpp"
#include "platform/platform.hpp"
#include "units/ids.hpp"

#include <cstdint>
#include <string>
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
  NodeRoutes inside;              ///< the ways through one node; all nodes are alike

  [[nodiscard]] int ranks() const { return first_rank.back(); }
  [[nodiscard]] NodeId node_of(Rank rank) const;
  [[nodiscard]] DeviceId gpu_of(Rank rank) const;
};

/// `nodes` whole nodes cut to `gpus` ranks taken in node order, at most `gpus_per_node` on each
/// (0 means all there are). Nodes left without a rank are left out. Throws InputError with what exists when
/// more is asked for than there is.
Cluster make_cluster(Platform platform, int nodes, int gpus = 0, int gpus_per_node = 0);

/// Number of directed links: LinkId runs from 0 to this. Node by node the two directions of the node's links
/// and then of its NICs (outwards, inwards), then up and down of every leaf switch that can bind.
std::uint32_t link_count(const Cluster& cluster);

/// What the simulation lets through: the link's effective rate, all lanes.
Bandwidth capacity(const Cluster& cluster, LinkId link);

/// Parallel lanes of a link inside a node; 1 for links of the fabric.
int lanes(const Cluster& cluster, LinkId link);

/// What the specification promises, for bounds.
Bandwidth specified_bandwidth(const Cluster& cluster, LinkId link);

/// "node0.gpu3->nvswitch0", "node2.nic1->fabric", "fabric->node2.nic1", "leaf0->core", "core->leaf0".
std::string link_name(const Cluster& cluster, LinkId link);

/// True for NIC-fabric links and the links inside the fabric.
bool is_fabric(const Cluster& cluster, LinkId link);

struct Route {
  std::vector<LinkId> links;  ///< directed, in travel order
  Seconds latency;            ///< sum of the links' latencies
  bool crosses_network = false;
  bool crosses_pcie = false;  ///< uses a link other than NVLink inside a node
};

/// The way from one GPU to another: inside a node the fewest hops, NVLink before PCIe, never through a third
/// GPU; between nodes through NIC number `nic` on both (-1: the NIC nearest to each GPU). A rank's way to
/// itself has no links. The way back has the same links, reversed. Throws Unreachable if there is none.
Route route(const Cluster& cluster, Rank from, Rank to, int nic = -1);

/// What a route is besides its links.
struct RouteSummary {
  Seconds latency;
  bool crosses_network = false;
  bool crosses_pcie = false;
};

/// As `route`, with the links appended to `links`: for unions over many edges without an allocation for each.
RouteSummary append_route(const Cluster& cluster, Rank from, Rank to, int nic, std::vector<LinkId>& links);

}  // namespace trainyard
