#pragma once
// The parts of a machine's network that a key of its platform makes faster as a whole: the part of a limiting
// link, and the parts that `explain` tries at twice the speed.

#include "config/keys.hpp"
#include "platform/cluster.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class NetworkPart { nvlink, pcie, sockets, nics, fabric, host_memory, connections };

inline constexpr int network_parts = 7;

/// The part that a link belongs to.
inline NetworkPart part_of(const Cluster& cluster, LinkId link) {
  if (is_fabric(cluster, link)) return node_of(cluster, link) ? NetworkPart::nics : NetworkPart::fabric;
  const std::string_view medium = link_medium(cluster, link);
  if (medium.starts_with("nvlink") || medium == "xgmi") return NetworkPart::nvlink;
  return medium.starts_with("pcie") ? NetworkPart::pcie : NetworkPart::sockets;
}

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<NetworkPart> {
  static constexpr std::string_view what = "part of the network";
  static constexpr std::array table{
      Name{"nvlink", NetworkPart::nvlink, "NVLinks"},
      Name{"pcie", NetworkPart::pcie, "PCIe links"},
      Name{"sockets", NetworkPart::sockets, "links between CPU sockets"},
      Name{"nics", NetworkPart::nics, "NICs"},
      Name{"fabric", NetworkPart::fabric, "links between switches or routers"},
      Name{"host_memory", NetworkPart::host_memory, "the route through host memory of one connection"},
      Name{"connections", NetworkPart::connections, "the rate of one connection across the fabric"}};
};

}  // namespace trainyard::config
