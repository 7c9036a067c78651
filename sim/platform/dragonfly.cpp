// A dragonfly (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008):
// groups of routers, with all routers of a group joined to each other and all groups to each other. Cray's
// Aries is a dragonfly except inside its groups: its routers are joined along rows of 16 and columns of 6, up
// to two links apart, here always one; its adaptive detours over a third group are left out.

#include "platform/fabric_network.hpp"

namespace trainyard {
namespace {

/// Position of `to` among all but `from`, counted from 0, and its inverse.
int place_without(int from, int to) { return to < from ? to : to - 1; }
int at_place_without(int from, int place) { return place < from ? place : place + 1; }

/// Routes are minimal: to the router of the group with a link to the other group, over
/// that link, and from its end to the node's router. These routers differ from group to group and are spread
/// evenly over each group.
class Dragonfly final : public FabricNetwork {
public:
  explicit Dragonfly(const Fabric& fabric)
      : FabricNetwork(fabric),
        groups_(fabric.dragonfly.groups.value),
        routers_(fabric.dragonfly.routers_per_group.value),
        nodes_(fabric.dragonfly.nodes_per_router.value),
        first_global_(unsigned_of(groups_) * unsigned_of(routers_) * unsigned_of(routers_ - 1)),
        local_(link_rates(fabric, fabric.dragonfly.local_link.value)),
        global_(link_rates(fabric, fabric.dragonfly.global_link.value)) {}
  [[nodiscard]] std::uint32_t links() const override {
    return first_global_ + unsigned_of(groups_ * (groups_ - 1));
  }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const override {
    return link < first_global_ ? local_ : global_;
  }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const auto group_name = [](int group) { return "group" + std::to_string(group); };
    if (link >= first_global_) {
      const int rest = static_cast<int>(link - first_global_);
      const int from = rest / (groups_ - 1);
      return group_name(from) + "->" + group_name(at_place_without(from, rest % (groups_ - 1)));
    }
    const auto router = static_cast<int>(link / unsigned_of(routers_ - 1));
    const int from = router % routers_;
    const int to = at_place_without(from, static_cast<int>(link % unsigned_of(routers_ - 1)));
    const std::string group = group_name(router / routers_) + ".router";
    return group + std::to_string(from) + "->" + group + std::to_string(to);
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    const int out = from.node / nodes_;
    const int in = to.node / nodes_;
    const int out_group = out / routers_;
    const int in_group = in / routers_;
    int hops = 0;
    const auto add = [&](std::uint32_t link) {
      links.push_back(LinkId{first + link});
      ++hops;
    };
    const auto within = [&](int group, int one, int other) {
      if (one != other) add(local_link(group, one, other));
    };
    if (out_group == in_group) {
      within(out_group, out % routers_, in % routers_);
    } else {
      within(out_group, out % routers_, gateway(out_group, in_group));
      add(first_global_ + unsigned_of(out_group) * unsigned_of(groups_ - 1) +
          unsigned_of(place_without(out_group, in_group)));
      within(in_group, gateway(in_group, out_group), in % routers_);
    }
    return latency(hops);
  }

private:
  [[nodiscard]] int gateway(int group, int other) const {
    const int distance = (other - group + groups_) % groups_;  // 1 to groups - 1
    return static_cast<int>((distance - 1LL) * routers_ / (groups_ - 1));
  }

  [[nodiscard]] std::uint32_t local_link(int group, int from, int to) const {
    return (unsigned_of(group) * unsigned_of(routers_) + unsigned_of(from)) * unsigned_of(routers_ - 1) +
           unsigned_of(place_without(from, to));
  }

  int groups_;
  int routers_;  ///< per group
  int nodes_;    ///< per router
  std::uint32_t first_global_;
  LinkRates local_;
  LinkRates global_;
};

}  // namespace

Network dragonfly(const Fabric& fabric) { return std::make_shared<const Dragonfly>(fabric); }

}  // namespace trainyard
