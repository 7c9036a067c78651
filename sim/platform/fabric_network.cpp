#include "platform/fabric_network.hpp"

#include <fmt/format.h>

namespace trainyard {

std::string end_name(const CustomEnd& end, const std::vector<std::string>& switches) {
  return end.switch_number >= 0 ? switches[at(end.switch_number)]
                                : fmt::format("node{}.nic{}", end.node, end.nic);
}

std::optional<int> places(const Fabric& fabric) {
  switch (fabric.kind) {
    case FabricKind::none:
      return 1;
    case FabricKind::single_switch:
    case FabricKind::fat_tree:
    case FabricKind::rail_optimised:
      return std::nullopt;
    case FabricKind::torus2d:
    case FabricKind::torus3d: {
      int product = 1;
      for (const int size : fabric.torus.dimensions) product *= size;
      return product;
    }
    case FabricKind::dragonfly:
      return fabric.dragonfly.groups.value * fabric.dragonfly.routers_per_group.value *
             fabric.dragonfly.nodes_per_router.value;
    case FabricKind::custom:
      return fabric.custom.nodes;
  }
  return std::nullopt;
}

Network fabric_network(const Fabric& fabric, int nodes, int nics) {
  switch (fabric.kind) {
    case FabricKind::none:
    case FabricKind::single_switch:
      break;
    case FabricKind::fat_tree:
      return fat_tree(fabric, nodes, nics);
    case FabricKind::rail_optimised:
      return rail_optimised(fabric, nodes, nics);
    case FabricKind::torus2d:
    case FabricKind::torus3d:
      return torus(fabric);
    case FabricKind::dragonfly:
      return dragonfly(fabric);
    case FabricKind::custom:
      return custom_fabric(fabric, nics);
  }
  return std::make_shared<const FabricNetwork>(fabric);
}

}  // namespace trainyard
