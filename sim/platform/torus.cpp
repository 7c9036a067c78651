// A torus of two or three dimensions: one router per node, joined to both neighbours along every dimension,
// with wrap-around. All NICs of a node feed its router.

#include "platform/fabric_network.hpp"

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
  explicit Torus(const Fabric& fabric)
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

}  // namespace

Network torus(const Fabric& fabric) { return std::make_shared<const Torus>(fabric); }

}  // namespace trainyard
