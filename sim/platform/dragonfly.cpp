#include "platform/dragonfly.hpp"

namespace trainyard {
namespace {

/// Position of `to` among all but `from`, counted from 0, and its inverse.
int place_without(int from, int to) { return to < from ? to : to - 1; }
int at_place_without(int from, int place) { return place < from ? place : place + 1; }

}  // namespace

Dragonfly::Dragonfly(const Fabric& fabric)
    : groups_(fabric.dragonfly.groups.value),
      routers_(fabric.dragonfly.routers_per_group.value),
      nodes_(fabric.dragonfly.nodes_per_router.value),
      first_global_(unsigned_of(groups_) * unsigned_of(routers_) * unsigned_of(routers_ - 1)),
      local_(link_rates(fabric, fabric.dragonfly.local_link.value)),
      global_(link_rates(fabric, fabric.dragonfly.global_link.value)),
      latency_(fabric.latency.value),
      hop_latency_(fabric.hop_latency.value) {}

int Dragonfly::gateway(int group, int other) const {
  const int distance = (other - group + groups_) % groups_;  // 1 to groups - 1
  return static_cast<int>((distance - 1LL) * routers_ / (groups_ - 1));
}

std::uint32_t Dragonfly::local_link(int group, int from, int to) const {
  return (unsigned_of(group) * unsigned_of(routers_) + unsigned_of(from)) * unsigned_of(routers_ - 1) +
         unsigned_of(place_without(from, to));
}

std::string Dragonfly::name(std::uint32_t link) const {
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

std::optional<Seconds> Dragonfly::append_route(Port from, Port to, std::uint32_t first,
                                               std::vector<LinkId>& links) const {
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
  return latency_ + hop_latency_ * hops;
}

}  // namespace trainyard
