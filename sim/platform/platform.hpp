#pragma once
// A machine: the devices of one node and the links between them as a Boost.Graph graph, and the fabric that
// joins nodes. Built from a platform file (load.hpp); expanded to a number of nodes by cluster.hpp.

#include "config/catalogue.hpp"
#include "platform/fabric.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class DeviceKind { gpu, cpu, nvswitch, pcie_switch, nic };

struct Device {
  DeviceKind kind{};
  int number = 0;     ///< within its kind
  std::string name;   ///< "gpu3"
  std::string model;  ///< "Xeon Platinum 8168"; empty if unknown
  /// CPUs only: every root port is a separate host bridge, so devices below two ports are connected by NODE,
  /// not PHB. Changes only the printed matrix.
  bool host_bridge_per_port = false;
};

/// The kind of a link decides its protocol costs (NCCL's tables know NVLink, PCI and network).
enum class LinkKind {
  nvlink1,
  nvlink2,
  nvlink3,
  nvlink4,
  nvlink5,
  xgmi,
  pcie3,
  pcie4,
  pcie5,
  qpi,
  upi,
  xbus,
  infinity_fabric
};

/// xGMI counts as an NVLink, as RCCL counts it (LINK_NVL in ROCm/rccl src/graph/topo.h).
constexpr bool is_nvlink(LinkKind kind) { return kind <= LinkKind::xgmi; }
constexpr bool is_pcie(LinkKind kind) { return kind >= LinkKind::pcie3 && kind <= LinkKind::pcie5; }

/// The latency of a link of this kind on the shipped machines, those on which the measured steps of protocols
/// rest (collectives/protocol_overheads.hpp). NVLink: half of a peer-to-peer write between two GPUs of a
/// DGX-2, 2.3-2.7 us, which crosses two links (gpu-micro README). Others: assumed, as a switch or port
/// forwards in 0.1-0.2 us.
constexpr Seconds usual_latency(LinkKind kind) { return Seconds{is_nvlink(kind) ? 1.25e-6 : 0.2e-6}; }

/// A full-duplex link; every rate is per direction and for all lanes together.
struct Link {
  LinkKind kind{};
  int lanes = 1;
  Sourced<Bandwidth> bandwidth;  ///< by specification
  Sourced<Bandwidth> effective;  ///< reached by collectives, used by the simulation; = bandwidth if unknown
  Sourced<Seconds> latency;
};

/// What-if: factors on the speed of links inside a node, relative to the rest of the file.
struct LinkSpeeds {
  static constexpr double highest = 100;
  double nvlink = 1, pcie = 1, sockets = 1;
};

/// What-if: lanes of links inside a node, in place of the file's.
struct LinkLanes {
  static constexpr int most = 32;
  std::optional<int> nvlink;
};

using NodeGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, Device, Link>;
using DeviceId = boost::graph_traits<NodeGraph>::vertex_descriptor;
using EdgeId = boost::graph_traits<NodeGraph>::edge_descriptor;

struct NodePower {
  std::optional<Sourced<Watts>> max;
  std::optional<Sourced<Watts>> overhead;  ///< without the GPUs
};

struct NodePrice {
  std::optional<Sourced<Dollars>> list;
  std::optional<Sourced<Dollars>> hour;  ///< rent
  std::string date;                      ///< of the rent, and of the list price if that has none
  std::string list_date;                 ///< of the list price; empty: `date`
  std::string source;                    ///< of prices that state none
};

struct Platform {
  std::string name;
  std::string title;
  std::optional<int> year;  ///< in which the machine came out, or ran the published measurements
  NodeGraph node;
  /// False: GPUs without an NVLink path between them copy through host memory, each connection with at most
  /// `staged`.
  bool has_peer_to_peer = true;
  Sourced<Bandwidth> staged{.value = Bandwidth{std::numeric_limits<double>::infinity()}};
  LinkSpeeds speeds;  ///< already applied to the links
  LinkLanes lanes;    ///< already applied to the links; nothing if it changed none
  /// The devices that hold ranks, in rank order: its GPUs or, if it has none, its CPU sockets.
  std::vector<DeviceId> gpus;
  bool ranks_on_processors = false;
  std::vector<DeviceId> nics;  ///< NICs that reach the fabric
  std::vector<DeviceId> cpus;
  std::string gpu_profile;  ///< name of their profile in platforms/gpus, or in platforms/processors
  std::string memory_mode;  ///< of the processors, one of their profile's; empty: its first
  Fabric fabric;
  std::optional<Sourced<int>> cores_per_cpu;
  std::optional<Sourced<Bandwidth>> host_memory_bandwidth;  ///< per socket, reads and writes together
  std::optional<Sourced<Bandwidth>> storage;                ///< read by one node
  std::optional<Sourced<Bandwidth>> shared_storage;         ///< read by all nodes together
  NodePower power;
  NodePrice price;
  std::optional<Sourced<double>> host_launch;  ///< as stated; host_launch.hpp has the value to use
  std::vector<std::string> sources;
};

/// The kind of profile of the devices that hold ranks.
config::Kind profile_kind(const Platform& platform);

/// The device of a rank: "GPU" or "processor".
std::string_view device_word(const Platform& platform);

/// A text for readers that speaks of GPUs, in the words of a platform whose ranks are on processors.
std::string in_device_words(const Platform& platform, std::string_view text);

}  // namespace trainyard
