#pragma once
// The links of a fabric between the NICs of a number of nodes: one type per kind, all with the same four
// members. Links are numbered and computed on demand, so 8,192 nodes cost no more than two.

#include "platform/custom_fabric.hpp"
#include "platform/dragonfly.hpp"
#include "platform/fabric.hpp"
#include "platform/fat_tree.hpp"
#include "platform/rail_optimised.hpp"
#include "platform/single_switch.hpp"
#include "platform/torus.hpp"

#include <variant>

namespace trainyard {

/// Each has
///     std::uint32_t links() const                        directed links, numbered from 0
///     LinkRates rates(std::uint32_t link) const          effective and specified rate
///     std::string name(std::uint32_t link) const         "leaf0->core", unique within the fabric
///     std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
///                                         std::vector<LinkId>& links) const
/// where append_route adds the links from NIC to NIC, numbered from `first`, and returns the latency of the
/// route, NICs included; empty if there is none.
using FabricNetwork = std::variant<SingleSwitch, FatTree, RailOptimised, Torus, Dragonfly, CustomFabric>;

/// The network between `nodes` nodes with `nics` NICs each, at most as many nodes as it has places for. A
/// fabric of kind none gives a network without links.
FabricNetwork fabric_network(const Fabric& fabric, int nodes, int nics);

}  // namespace trainyard
