#pragma once
// Links of a node that are alike, for tables and drawings that name each kind of link once.

#include "platform/platform.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Neighbours in the platform's list of links with equal properties, between the same two kinds of device.
struct LinkGroup {
  Link link;
  std::string between;  ///< "gpu[0-15] - pcie_switch[0-7]", "pairs of gpu[0-7]"
  std::vector<EdgeId> edges;
};

std::vector<LinkGroup> link_groups(const NodeGraph& graph);

/// "gpu3" or "gpu[0-3,8]": as platform files write it.
std::string device_list(DeviceKind kind, std::vector<int> numbers);

}  // namespace trainyard
