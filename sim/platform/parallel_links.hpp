#pragma once
// Groups of equal links of a node, for tables and drawings that show each kind of link once.

#include "platform/platform.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Consecutive links in the platform's list with equal properties, between the same two kinds of device.
struct ParallelLinks {
  Link link;
  std::string between;  ///< "gpu[0-15] - pcie_switch[0-7]", "pairs of gpu[0-7]"
  std::vector<EdgeId> edges;
};

std::vector<ParallelLinks> parallel_links(const NodeGraph& graph);

/// "gpu3" or "gpu[0-3,8]", as in platform files.
std::string device_list(DeviceKind kind, std::vector<int> numbers);

}  // namespace trainyard
