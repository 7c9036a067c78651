// A fabric whose file lists the links of each route, as SimGrid's platforms do. No graph: a link may be part
// of routes that have nothing else in common.

#include "platform/fabric_definition.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

class ListedRoutes final : public FabricNetwork {
public:
  ListedRoutes(const Fabric& fabric, int /*nodes*/, int nics)
      : FabricNetwork(fabric),
        fabric_(fabric),
        nics_(nics),
        ports_(at(*fabric.places * nics)),
        route_(ports_ * ports_, none) {
    const std::vector<ListedRoute>& routes = fabric_.routes.routes;
    for (int number = 0; number < static_cast<int>(routes.size()); ++number) {
      for (const CustomEnd& from : routes[at(number)].from) {
        for (const CustomEnd& to : routes[at(number)].to) {
          if (from != to) route_[place({from.node, from.nic}, {to.node, to.nic})] = number;
        }
      }
    }
  }

  [[nodiscard]] std::uint32_t links() const override {
    return static_cast<std::uint32_t>(fabric_.routes.links.size());
  }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const override {
    return link_rates(fabric_, fabric_.routes.links[link].bandwidth);
  }
  [[nodiscard]] std::string name(std::uint32_t link) const override {
    return fabric_.routes.links[link].name;
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    const int number = route_[place(from, to)];
    if (number == none) return std::nullopt;
    const auto append = [&](const std::vector<int>& some) {
      for (const int link : some) links.push_back(LinkId{first + static_cast<std::uint32_t>(link)});
    };
    const std::map<CustomEnd, RouteEnds>& ends = fabric_.routes.ends;
    const ListedRoute& route = fabric_.routes.routes[at(number)];
    if (const auto end = ends.find({.node = from.node, .nic = from.nic}); end != ends.end())
      append(end->second.out);
    append(route.over);
    if (const auto end = ends.find({.node = to.node, .nic = to.nic}); end != ends.end())
      append(end->second.in);
    return latency(0) + route.latency.value;
  }

  [[nodiscard]] int first_switch(Port port) const override { return port.node * nics_ + port.nic; }

private:
  static constexpr int none = -1;

  [[nodiscard]] std::size_t place(Port from, Port to) const {
    return at(first_switch(from)) * ports_ + at(first_switch(to));
  }

  Fabric fabric_;
  int nics_;
  std::size_t ports_;
  std::vector<int> route_;  ///< number of the listed route, by both NICs
};

std::string routes_lines(const Fabric& fabric, Footnotes& /*notes*/) {
  return fmt::format("  {} links and {} routes as listed, {} nodes\n", fabric.routes.links.size(),
                     fabric.routes.routes.size(), *fabric.places);
}

void draw_routes(const Fabric& /*fabric*/, FabricDrawing& drawing) {
  drawing.box("routes", "routes as listed");
  drawing.enter("routes");
}

}  // namespace

FabricDefinition listed_routes() {
  return {.keys = {{"shared_links"},
                   {"ends"},
                   {"routes", "routes: [{from: \"node[0-3].nic0\", to: \"node[0-3].nic0\"}]"},
                   {.name = "hop_latency", .instead = "give its routes a latency"}},
          .read = read_routes,
          .network = network_of<ListedRoutes>,
          .lines = routes_lines,
          .draw = draw_routes};
}

}  // namespace trainyard
