// A torus of two or three dimensions: one router per node, joined to both neighbours along every dimension,
// with wrap-around. All NICs of a node feed its router.

#include "platform/fabric_definition.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// The router `by` places further (1 or -1) along one dimension.
int neighbour(int router, int size, int stride, int by) {
  const int place = router / stride % size;
  return router + ((place + by + size) % size - place) * stride;
}

/// A route goes along x first, then y, then z, each in the shorter direction and, if both
/// are equally long, towards larger coordinates. So the opposite route may have different links, but as many.
/// If a dimension has only two routers, one link joins them, not two.
class Torus final : public FabricNetwork {
public:
  Torus(const Fabric& fabric, int /*nodes*/, int /*nics*/)
      : FabricNetwork(fabric), rates_(link_rates(fabric, fabric.torus.link.value)) {
    for (const int size : fabric.torus.dimensions) {
      const std::uint32_t out = size == 1 ? 0 : size == 2 ? 1 : 2;
      dimensions_.push_back(
          {.size = size, .stride = static_cast<int>(routers_), .first_link = per_router_, .links = out});
      routers_ *= unsigned_of(size);
      per_router_ += out;
    }
  }
  [[nodiscard]] std::uint32_t links() const override { return routers_ * per_router_; }
  [[nodiscard]] LinkRates rates(std::uint32_t /*link*/) const override { return rates_; }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const int router = static_cast<int>(link / per_router_);
    const std::uint32_t port = link % per_router_;
    for (const Dimension& along : dimensions_) {
      if (port < along.first_link || port >= along.first_link + along.links) continue;
      const int by = port == along.first_link ? 1 : -1;
      return router_name(router) + "->" + router_name(neighbour(router, along.size, along.stride, by));
    }
    return {};
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    int router = from.node;
    int hops = 0;
    for (const Dimension& along : dimensions_) {
      int place = router / along.stride % along.size;
      const int ahead = (to.node / along.stride % along.size - place + along.size) % along.size;
      const bool is_upwards = 2 * ahead <= along.size;
      const int steps = is_upwards ? ahead : along.size - ahead;
      const int last = is_upwards ? along.size - 1 : 0;  // where the next step wraps around
      const int by = is_upwards ? 1 : -1;
      for (int step = 0; step < steps; ++step) {
        links.push_back(
            LinkId{first + unsigned_of(router) * per_router_ + along.first_link + (is_upwards ? 0U : 1U)});
        const int next = place == last ? along.size - 1 - last : place + by;
        router += (next - place) * along.stride;
        place = next;
      }
      hops += steps;
    }
    return latency(hops);
  }

  [[nodiscard]] int first_switch(Port port) const override { return port.node; }
  /// In the middle of each dimension and, if it wraps around, at its ends.
  [[nodiscard]] std::vector<NarrowCut> narrow_cuts() const override {
    std::vector<NarrowCut> cuts;
    for (const Dimension& along : dimensions_) {
      const double links = static_cast<double>(routers_) / along.size * (along.size > 2 ? 2 : 1);
      cuts.push_back({[along](int node) { return node / along.stride % along.size < along.size / 2 ? 0 : 1; },
                      rates_.specified * links});
    }
    return cuts;
  }
  [[nodiscard]] LinkKeys link_keys() const override { return {"torus", {{"link", rates_.specified}}}; }

private:
  struct Dimension {
    int size = 1;
    int stride = 1;                ///< between numbers of neighbouring routers
    std::uint32_t first_link = 0;  ///< of the links out of one router: upwards, then downwards
    std::uint32_t links = 0;       ///< out of one router: none, only upwards, or both
  };

  [[nodiscard]] std::string router_name(int router) const {
    std::string name = "router";
    for (const Dimension& along : dimensions_) {
      if (&along != dimensions_.data()) name += '.';
      name += std::to_string(router / along.stride % along.size);
    }
    return name;
  }

  std::vector<Dimension> dimensions_;
  std::uint32_t routers_ = 1;
  std::uint32_t per_router_ = 0;
  LinkRates rates_;
};

void read_torus(const FabricFile& file, int /*nics*/, Fabric& fabric, config::Problems& problems) {
  fabric.torus.dimensions = file.dimensions;
  take(fabric.torus.link, file.link);
  if (!problems.readable("fabric.dimensions") || file.dimensions.empty()) return;
  const std::size_t wanted = file.kind == FabricKind::torus2d ? 2 : 3;
  if (file.dimensions.size() != wanted) {
    problems.error("fabric.dimensions",
                   fmt::format("a {} has {} dimensions, not {}", config::name_of(file.kind), wanted,
                               file.dimensions.size()),
                   wanted == 2 ? "dimensions: [8, 8]" : "dimensions: [4, 4, 4]");
    return;
  }
  double routers = 1;
  for (const int size : file.dimensions) routers *= size;
  if (routers > config::most_nodes) {
    problems.error("fabric.dimensions", fmt::format("the torus has {} routers", routers),
                   fmt::format("{} at most", config::most_nodes));
    return;
  }
  fabric.places = static_cast<int>(routers);
}

std::string torus_lines(const Fabric& fabric, Footnotes& notes) {
  std::string text =
      fmt::format("  {} routers, one per node, with links of ", fmt::join(fabric.torus.dimensions, " x "));
  return text + figure(fabric.torus.link, notes) + '\n';
}

/// Draws one plane near router 0, as a grid.
void draw_torus(const Fabric& fabric, FabricDrawing& drawing) {
  const std::vector<int>& sizes = fabric.torus.dimensions;
  const int columns = std::min(sizes[0], 4);
  const int rows = std::min(sizes[1], 4);
  const auto name = [](int x, int y) { return fmt::format("router{}_{}", x, y); };
  const auto label = [&](int x, int y) {
    return sizes.size() == 3 ? fmt::format("{}.{}.0", x, y) : fmt::format("{}.{}", x, y);
  };
  for (int y = 0; y < rows; ++y) {
    std::string row = "  {rank=same;";
    for (int x = 0; x < columns; ++x) {
      drawing.box(name(x, y), label(x, y));
      row += " " + name(x, y) + ";";
    }
    const std::string edge = fmt::format("edge{}", y);
    drawing.others(edge, columns < sizes[0] ? "..." : columns > 2 ? "around" : "");
    drawing.text += fmt::format("{} {};}}\n", row, edge);
    for (int x = 0; x + 1 < columns; ++x) drawing.line(name(x, y), name(x + 1, y));
    drawing.line(name(columns - 1, y), edge);
    for (int x = 0; y > 0 && x < columns; ++x) drawing.line(name(x, y - 1), name(x, y));
  }
  for (int x = 0; x < columns; ++x) {
    const std::string edge = fmt::format("below{}", x);
    drawing.others(edge, rows < sizes[1] ? "..." : rows > 2 ? "around" : "");
    drawing.line(name(x, rows - 1), edge);
  }
  if (sizes.size() == 3 && sizes[2] > 1) {
    drawing.others("planes", fmt::format("{} planes", sizes[2]));
    drawing.line(name(columns - 1, 0), "planes");
  }
  drawing.enter(name(0, 0));
}

}  // namespace

FabricDefinition torus() {
  return {.keys = {{"dimensions", "dimensions: [8, 8] for torus2d, [4, 4, 4] for torus3d"},
                   {"link", "link: 100 Gbps"},
                   {"hop_latency", "hop_latency: 0.1 us"}},
          .read = read_torus,
          .network = network_of<Torus>,
          .lines = torus_lines,
          .draw = draw_torus};
}

}  // namespace trainyard
