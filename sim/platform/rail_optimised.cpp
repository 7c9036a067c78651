#include "platform/rail_optimised.hpp"

namespace trainyard {

RailOptimised::RailOptimised(const Fabric& fabric, int nodes, int nics)
    : nodes_per_rail_(fabric.rail.nodes_per_rail.value),
      units_((nodes + nodes_per_rail_ - 1) / nodes_per_rail_),
      nics_(nics),
      has_links_(fabric.rail.oversubscription.value > 1 && units_ * nics_ > 1),
      rates_(link_rates(fabric, fabric.nic.value * (nodes_per_rail_ / fabric.rail.oversubscription.value))),
      latency_(fabric.latency.value),
      hop_latency_(fabric.hop_latency.value) {}

std::string RailOptimised::name(std::uint32_t link) const {
  const std::uint32_t rail = link / 2;
  const std::string below = "unit" + std::to_string(rail / unsigned_of(nics_)) + ".rail" +
                            std::to_string(rail % unsigned_of(nics_));
  return link % 2 == 0 ? below + "->spine" : "spine->" + below;
}

std::optional<Seconds> RailOptimised::append_route(Port from, Port to, std::uint32_t first,
                                                   std::vector<LinkId>& links) const {
  const int out = from.node / nodes_per_rail_ * nics_ + from.nic;
  const int in = to.node / nodes_per_rail_ * nics_ + to.nic;
  if (out == in) return latency_;
  if (has_links_) {
    links.push_back(LinkId{first + 2 * unsigned_of(out)});
    links.push_back(LinkId{first + 2 * unsigned_of(in) + 1});
  }
  return latency_ + hop_latency_ * 2;
}

}  // namespace trainyard
