#include "platform/fabric_network.hpp"

namespace trainyard {

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

FabricNetwork fabric_network(const Fabric& fabric, int nodes, int nics) {
  switch (fabric.kind) {
    case FabricKind::none:
    case FabricKind::single_switch:
      break;
    case FabricKind::fat_tree:
      return FatTree(fabric, nodes, nics);
    case FabricKind::rail_optimised:
      return RailOptimised(fabric, nodes, nics);
    case FabricKind::torus2d:
    case FabricKind::torus3d:
      return Torus(fabric);
    case FabricKind::dragonfly:
      return Dragonfly(fabric);
    case FabricKind::custom:
      return CustomFabric(fabric, nics);
  }
  return SingleSwitch(fabric);
}

}  // namespace trainyard
