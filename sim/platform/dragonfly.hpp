#pragma once
// A dragonfly (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008):
// groups of routers, with all routers of a group joined to each other and all groups to each other. Cray's
// Aries is a dragonfly except inside its groups: its routers are joined along rows of 16 and columns of 6, up
// to two links apart, here always one; its adaptive detours over a third group are left out.

#include "platform/fabric_port.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// See FabricNetwork. Routes are minimal: to the router of the group with a link to the other group, over
/// that link, and from its end to the node's router. These routers differ from group to group and are spread
/// evenly over each group.
class Dragonfly {
public:
  explicit Dragonfly(const Fabric& fabric);

  [[nodiscard]] std::uint32_t links() const { return first_global_ + unsigned_of(groups_ * (groups_ - 1)); }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const { return link < first_global_ ? local_ : global_; }
  [[nodiscard]] std::string name(std::uint32_t link) const;
  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const;

private:
  [[nodiscard]] int gateway(int group, int other) const;
  [[nodiscard]] std::uint32_t local_link(int group, int from, int to) const;

  int groups_;
  int routers_;  ///< per group
  int nodes_;    ///< per router
  std::uint32_t first_global_;
  LinkRates local_;
  LinkRates global_;
  Seconds latency_;
  Seconds hop_latency_;
};

}  // namespace trainyard
