#pragma once
// A machine: the devices of one node and the links between them as a Boost.Graph graph, and the fabric that
// joins nodes. Built from a platform file (load.hpp); expanded to a number of nodes by cluster.hpp.

#include "platform/fabric.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

enum class DeviceKind { gpu, cpu, nvswitch, pcie_switch, nic };

struct Device {
  DeviceKind kind{};
  int number = 0;     ///< within its kind
  std::string name;   ///< "gpu3"
  std::string model;  ///< "Xeon Platinum 8168"; empty when not stated
  /// Of a CPU: every root port is a host bridge of its own, so that devices below two ports are NODE apart
  /// and not PHB. Changes the printed matrix only.
  bool host_bridge_per_port = false;
};

/// The kind of a link decides its protocol costs (NCCL's tables know NVLink, PCI and network).
enum class LinkKind {
  nvlink1,
  nvlink2,
  nvlink3,
  nvlink4,
  pcie3,
  pcie4,
  pcie5,
  qpi,
  upi,
  xbus,
  infinity_fabric
};

constexpr bool is_nvlink(LinkKind kind) { return kind <= LinkKind::nvlink4; }
constexpr bool is_pcie(LinkKind kind) { return kind >= LinkKind::pcie3 && kind <= LinkKind::pcie5; }

/// A full-duplex link; every rate is per direction and for all lanes together.
struct Link {
  LinkKind kind{};
  int lanes = 1;
  Sourced<Bandwidth> bandwidth;  ///< what the specification promises
  Sourced<Bandwidth> effective;  ///< what collectives reach, used by the simulation; = bandwidth when unknown
  Sourced<Seconds> latency;
};

/// Of a what-if: how many times as fast links inside a node are as the rest of the file says.
struct LinkSpeeds {
  static constexpr double highest = 100;
  double nvlink = 1, pcie = 1, sockets = 1;
};

using NodeGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, Device, Link>;
using DeviceId = boost::graph_traits<NodeGraph>::vertex_descriptor;
using EdgeId = boost::graph_traits<NodeGraph>::edge_descriptor;

struct Platform {
  std::string name;
  std::string title;
  NodeGraph node;
  /// False: GPUs without an NVLink way between them copy through host memory, each connection at no more than
  /// `staged`.
  bool has_peer_to_peer = true;
  Sourced<Bandwidth> staged{.value = Bandwidth{std::numeric_limits<double>::infinity()}};
  LinkSpeeds speeds;           ///< which the links have in them
  std::vector<DeviceId> gpus;  ///< in rank order
  std::vector<DeviceId> nics;  ///< those that reach the fabric
  std::vector<DeviceId> cpus;
  std::string gpu_profile;  ///< name of the profile in platforms/gpus
  Fabric fabric;
  std::optional<Sourced<int>> cores_per_cpu;
  std::optional<Sourced<Bandwidth>> host_memory_bandwidth;  ///< of one socket, reads and writes together
  std::optional<Sourced<Bandwidth>> storage;                ///< what one node reads
  std::optional<Sourced<Bandwidth>> shared_storage;         ///< what all nodes read together
  std::optional<Sourced<Watts>> power_max;                  ///< of one node
  std::optional<Sourced<Watts>> power_overhead;             ///< of one node without its GPUs
  std::optional<Sourced<Dollars>> price;                    ///< list price of one node
  std::optional<Sourced<Dollars>> price_per_hour;           ///< rent of one node
  std::string price_date;                                   ///< of either price
  std::vector<std::string> sources;
};

}  // namespace trainyard
