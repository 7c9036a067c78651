#pragma once
// The links of a fabric between the NICs of a number of nodes. Links are numbered and computed on demand, so
// 8,192 nodes cost no more than two.

#include "platform/fabric.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// One NIC of one node.
struct Port {
  int node = 0;
  int nic = 0;
};

/// Rates of one directed link.
struct LinkRates {
  Bandwidth effective;  ///< used by the simulation
  Bandwidth specified;  ///< by specification
};

/// The rates of a link with this specified rate and the fabric's efficiency.
inline LinkRates link_rates(const Fabric& fabric, Bandwidth specified) {
  return {specified * reached(fabric), specified};
}

/// A count as an unsigned number of links.
constexpr std::uint32_t unsigned_of(int count) { return static_cast<std::uint32_t>(count); }

/// All NICs on one switch that never blocks: there are no links between two NICs, only latency. Each other
/// kind of fabric is a class of its own.
class FabricNetwork {
public:
  explicit FabricNetwork(const Fabric& fabric)
      : latency_(fabric.latency.value), hop_latency_(fabric.hop_latency.value) {}
  virtual ~FabricNetwork() = default;
  FabricNetwork(const FabricNetwork&) = delete;
  FabricNetwork& operator=(const FabricNetwork&) = delete;

  /// Number of directed links.
  [[nodiscard]] virtual std::uint32_t links() const { return 0; }
  [[nodiscard]] virtual LinkRates rates(std::uint32_t /*link*/) const { return {}; }
  /// "leaf0->core", unique within the fabric.
  [[nodiscard]] virtual std::string name(std::uint32_t /*link*/) const { return {}; }
  /// Appends the links from NIC to NIC, numbered from `first`. Returns the latency of the route, NICs
  /// included; empty if there is none.
  virtual std::optional<Seconds> append_route(Port /*from*/, Port /*to*/, std::uint32_t /*first*/,
                                              std::vector<LinkId>& /*links*/) const {
    return latency_;
  }

protected:
  [[nodiscard]] Seconds latency(int hops) const { return latency_ + hop_latency_ * hops; }

private:
  Seconds latency_;
  Seconds hop_latency_;
};

using Network = std::shared_ptr<const FabricNetwork>;

/// The network between `nodes` nodes with `nics` NICs each, at most as many nodes as it has places for. A
/// fabric of kind none gives a network without links.
Network fabric_network(const Fabric& fabric, int nodes, int nics);

// One kind each.
Network fat_tree(const Fabric& fabric, int nodes, int nics);
Network rail_optimised(const Fabric& fabric, int nodes, int nics);
Network torus(const Fabric& fabric);
Network dragonfly(const Fabric& fabric);
Network custom_fabric(const Fabric& fabric, int nics);

}  // namespace trainyard
