// A rail-optimised fabric: NIC k of all nodes of a unit is on rail switch k, so that equal GPUs of different
// nodes share one switch; other traffic crosses the spine that joins the rails.

#include "platform/fabric_network.hpp"

namespace trainyard {
namespace {

/// Rails have an uplink and a downlink only if they can limit traffic, like the leaves of
/// a fat tree.
class RailOptimised final : public FabricNetwork {
public:
  RailOptimised(const Fabric& fabric, int nodes, int nics)
      : FabricNetwork(fabric),
        nodes_per_rail_(fabric.rail.nodes_per_rail.value),
        units_((nodes + nodes_per_rail_ - 1) / nodes_per_rail_),
        nics_(nics),
        has_links_(fabric.rail.oversubscription.value > 1 && units_ * nics_ > 1),
        rates_(
            link_rates(fabric, fabric.nic.value * (nodes_per_rail_ / fabric.rail.oversubscription.value))) {}
  [[nodiscard]] std::uint32_t links() const override {
    return has_links_ ? 2 * unsigned_of(units_ * nics_) : 0;
  }
  [[nodiscard]] LinkRates rates(std::uint32_t /*link*/) const override { return rates_; }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const std::uint32_t rail = link / 2;
    const std::string below = "unit" + std::to_string(rail / unsigned_of(nics_)) + ".rail" +
                              std::to_string(rail % unsigned_of(nics_));
    return link % 2 == 0 ? below + "->spine" : "spine->" + below;
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    const int out = from.node / nodes_per_rail_ * nics_ + from.nic;
    const int in = to.node / nodes_per_rail_ * nics_ + to.nic;
    if (out == in) return latency(0);
    if (has_links_) {
      links.push_back(LinkId{first + 2 * unsigned_of(out)});
      links.push_back(LinkId{first + 2 * unsigned_of(in) + 1});
    }
    return latency(2);
  }

private:
  int nodes_per_rail_;
  int units_;
  int nics_;
  bool has_links_;
  LinkRates rates_;
};

}  // namespace

Network rail_optimised(const Fabric& fabric, int nodes, int nics) {
  return std::make_shared<const RailOptimised>(fabric, nodes, nics);
}

}  // namespace trainyard
