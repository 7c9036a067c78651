#pragma once
// A rail-optimised fabric: NIC k of all nodes of a unit is on rail switch k, so that equal GPUs of different
// nodes share one switch; other traffic crosses the spine that joins the rails.

#include "platform/fabric_port.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// See FabricNetwork. Rails have an uplink and a downlink only if they can limit traffic, like the leaves of
/// a fat tree.
class RailOptimised {
public:
  RailOptimised(const Fabric& fabric, int nodes, int nics);

  [[nodiscard]] std::uint32_t links() const { return has_links_ ? 2 * unsigned_of(units_ * nics_) : 0; }
  [[nodiscard]] LinkRates rates(std::uint32_t /*link*/) const { return rates_; }
  [[nodiscard]] std::string name(std::uint32_t link) const;
  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const;

private:
  int nodes_per_rail_;
  int units_;
  int nics_;
  bool has_links_;
  LinkRates rates_;
  Seconds latency_;
  Seconds hop_latency_;
};

}  // namespace trainyard
