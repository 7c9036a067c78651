#pragma once
// A platform times a number of nodes, and where the ranks sit: the network that collectives run on. Links are
// numbered, never stored one by one, so that 8,192 GPUs cost nothing until a route asks for a link.

#include <span>
#include <string>
#include <vector>

#include "platform/platform.hpp"
#include "units/ids.hpp"

namespace trainyard {

struct Cluster {
  Platform platform;
  int nodes = 1;
  std::vector<int> gpus_on_node;  ///< how many ranks each node holds; ranks take a node's GPUs in order
  std::vector<int> first_rank;    ///< of each node, plus the total at the end

  [[nodiscard]] int ranks() const { return first_rank.back(); }
  [[nodiscard]] NodeId node_of(Rank rank) const;
  [[nodiscard]] DeviceId gpu_of(Rank rank) const;
};

/// `nodes` whole nodes cut to `gpus` ranks taken in node order, at most `gpus_per_node` on each
/// (0 means all there are). Throws InputError with what exists when more is asked for than there is.
Cluster make_cluster(Platform platform, int nodes, int gpus = 0, int gpus_per_node = 0);

/// Number of directed links: LinkId runs from 0 to this.
std::uint32_t link_count(const Cluster& cluster);

/// What the simulation lets through: the link's effective rate, all lanes.
Bandwidth capacity(const Cluster& cluster, LinkId link);

/// What the specification promises, for bounds.
Bandwidth specified_bandwidth(const Cluster& cluster, LinkId link);

/// "node0.gpu3->nvswitch0", "node2.nic1->fabric".
std::string link_name(const Cluster& cluster, LinkId link);

/// True for NIC-fabric links and the links inside the fabric.
bool is_fabric(const Cluster& cluster, LinkId link);

struct Route {
  std::vector<LinkId> links;  ///< directed, in travel order
  Seconds latency;            ///< sum of the links' latencies
  bool crosses_network = false;
  bool crosses_pcie = false;
};

/// The way from one GPU to another: inside a node the fewest hops, NVLink before PCIe; between nodes through
/// NIC number `nic` on both (-1: the NIC nearest to each GPU). Throws InputError if there is none.
Route route(const Cluster& cluster, Rank from, Rank to, int nic = -1);

}  // namespace trainyard
