#pragma once
// A dragonfly (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008):
// groups of routers, all routers of a group joined to each other and all groups to each other. Cray's Aries
// is one, but for its groups: there routers are joined along rows of 16 and columns of 6 and need up to two
// links to meet, where here it is one; and its adaptive detours over a third group are left out.

#include "platform/fabric_port.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// See FabricNetwork. Ways are minimal: to the router of the group that leads to the other group, over the
/// one link between the groups, and from where it ends to the node's router. Those routers differ from group
/// to group, spread evenly over each.
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
  int routers_;  ///< of one group
  int nodes_;    ///< of one router
  std::uint32_t first_global_;
  LinkRates local_;
  LinkRates global_;
  Seconds latency_;
  Seconds hop_latency_;
};

}  // namespace trainyard
