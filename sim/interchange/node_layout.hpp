#pragma once
// The content of another program's description of a node, whichever program it was: sockets, PCIe switches,
// GPUs and network cards as a tree, and the links between GPUs. make_platform.hpp turns it into a platform.

#include "interchange/input_text.hpp"
#include "platform/fabric.hpp"
#include "platform/platform.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A link of the PCIe tree; 0 where a file does not say.
struct PcieLink {
  double transfers = 0;  ///< per second and lane, in 10^9: 8 (generation 3), 16, 32
  int lanes = 0;

  friend bool operator==(const PcieLink&, const PcieLink&) = default;
};

/// A device and its link towards the socket.
struct LayoutDevice {
  DeviceKind kind{};
  int parent = -1;  ///< place in NodeLayout::devices, before this one; -1 for sockets
  PcieLink up;
  std::string name;          ///< in the file: a bus number or "mlx5_0"
  std::string assumed = {};  ///< why `up` differs from the file; empty: the file says it, or it is unknown
};

/// NVLinks (or AMD's xGMI) of a GPU.
struct GpuLink {
  static constexpr int to_switches = -1;  ///< NVSwitches, as one crossbar; -2 is a second one, and so on
  int one = 0;                            ///< place of a GPU in NodeLayout::devices
  int other = to_switches;                ///< of another GPU or of a socket
  int lanes = 0;
  Bandwidth c2c = {};  ///< of an NVLink-C2C to its socket; 0: no such link

  friend bool operator==(const GpuLink&, const GpuLink&) = default;
};

/// The kind of the network cards, as far as a file says.
struct LayoutNics {
  std::optional<Bandwidth> rate;  ///< of one card
  std::optional<Transport> transport;
  std::optional<bool> gpudirect;
  int ports = 1;  ///< of a card, which are one in the platform
};

struct NodeLayout {
  std::string origin;  ///< "NCCL's topology dump topo.xml"
  std::vector<LayoutDevice> devices;
  std::vector<GpuLink> gpu_links;
  bool is_xgmi = false;
  std::string amd_generation;  ///< "gfx942": decides the rate of an xGMI link
  /// Every root port is a host bridge: devices below two ports are NODE, not PHB.
  bool host_bridge_per_port = false;
  std::optional<LinkKind> nvlink;       ///< generation, if the file tells
  std::optional<LinkKind> socket_link;  ///< between sockets, if the file tells
  std::string socket_generation;        ///< "Sapphire Rapids": decides the rate of that link
  std::string cpu_model;
  std::vector<std::string> products;     ///< names of the GPUs, in their order; empty if unknown
  std::vector<std::string> pci_devices;  ///< "10de:20b5", in the same way
  std::optional<Bytes> gpu_memory;       ///< that the driver leaves of a GPU's
  LayoutNics nics;
  bool is_affinity_known = true;         ///< which devices belong to which socket
  std::vector<std::string> assumptions;  ///< of the reader, for comments in the platform
  std::vector<std::string> warnings;     ///< about dropped or suspicious parts

  /// Places in `devices`.
  [[nodiscard]] std::vector<int> of_kind(DeviceKind kind) const;
  [[nodiscard]] int count(DeviceKind kind) const;
  /// The socket at the root of the tree that a device at this place is in.
  [[nodiscard]] int socket_of(int place) const;
};

/// How two devices are joined over PCIe, in the words of `nvidia-smi topo -m`: PIX, PXB, PHB, NODE or SYS.
std::string_view pcie_connection(const NodeLayout& layout, int one, int other);

/// Readers stop beyond this: 256 of each kind of device is the most of a platform.
inline constexpr std::size_t most_layout_devices = 5 * std::size_t{256};
InputError too_many_devices(const std::string& file);

/// Throws InputError if the node has no GPU, or more devices of a kind than a platform may have.
void check_counts(const NodeLayout& layout, const std::string& file);

/// The name of a GPU, "gpu3", for messages.
std::string gpu_name(const NodeLayout& layout, int place);

}  // namespace trainyard
