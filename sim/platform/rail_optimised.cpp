// A rail-optimised fabric: NIC k of all nodes of a unit is on rail switch k, so that equal GPUs of different
// nodes share one switch; other traffic crosses the spine that joins the rails.

#include "platform/fabric_definition.hpp"

#include <fmt/format.h>

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
        rates_(link_rates(fabric, fabric.nic.value * (nodes_per_rail_ / fabric.rail.oversubscription.value),
                          fabric.nic.is_assumed() || fabric.rail.oversubscription.is_assumed())) {}
  [[nodiscard]] std::uint32_t links() const override {
    return has_links_ ? 2 * unsigned_of(units_ * nics_) : 0;
  }
  [[nodiscard]] LinkRates rates(std::uint32_t /*link*/) const override { return rates_; }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const std::uint32_t rail = link / 2;
    const std::string below =
        fmt::format("unit{}.rail{}", rail / unsigned_of(nics_), rail % unsigned_of(nics_));
    return link % 2 == 0 ? below + "->spine" : "spine->" + below;
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    const int out = first_switch(from);
    const int in = first_switch(to);
    if (out == in) return latency(0);
    if (has_links_) {
      links.push_back(LinkId{first + 2 * unsigned_of(out)});
      links.push_back(LinkId{first + 2 * unsigned_of(in) + 1});
    }
    return latency(2);
  }

  [[nodiscard]] int first_switch(Port port) const override {
    return port.node / nodes_per_rail_ * nics_ + port.nic;
  }
  [[nodiscard]] std::vector<NarrowCut> narrow_cuts() const override {
    if (!has_links_) return {};
    return {{[unit = nodes_per_rail_](int node) { return node / unit; }, rates_.specified * nics_}};
  }

private:
  int nodes_per_rail_;
  int units_;
  int nics_;
  bool has_links_;
  LinkRates rates_;
};

void read_rails(const FabricFile& file, int /*nics*/, Fabric& fabric, config::Problems& /*problems*/) {
  take(fabric.rail.nodes_per_rail, file.nodes_per_rail);
  take(fabric.rail.oversubscription, file.oversubscription);
  take(fabric.rail.pxn, file.pxn);
}

std::string rail_lines(const Fabric& fabric, Footnotes& notes) {
  std::string text = "  one switch per NIC number, shared by ";
  text += counted(fabric.rail.nodes_per_rail, notes);
  text += " nodes, oversubscription ";
  text += counted(fabric.rail.oversubscription, notes);
  text += fmt::format("\n  data for another rail goes {} ",
                      fabric.rail.pxn.value ? "over NVLink to the GPU near its NIC (PXN)" : "over the spine");
  return text + notes.mark(fabric.rail.pxn) + '\n';
}

void draw_rails(const Fabric& fabric, FabricDrawing& drawing) {
  const RailShape& rail = fabric.rail;
  const double over = rail.oversubscription.value;
  for (std::size_t k = 0; k < drawing.entries.size(); ++k) {
    const std::string name = fmt::format("rail{}", k);
    drawing.box(name, fmt::format("{}\\n{} nodes", name, rail.nodes_per_rail.value));
    drawing.line(name, "spine", over > 1 && k == 0 ? fmt::format("{} : 1", shortest(over)) : "");
    drawing.entries[k] = name;
  }
  drawing.box("spine", "spine");
  drawing.rest("others", "other units");
  drawing.line("spine", "others");
}

}  // namespace

FabricDefinition rail_optimised() {
  return {.keys = {{"nodes_per_rail", "nodes_per_rail: 32"}, {"oversubscription"}, {"pxn"}, {"hop_latency"}},
          .read = read_rails,
          .network = network_of<RailOptimised>,
          .lines = rail_lines,
          .draw = draw_rails};
}

}  // namespace trainyard
