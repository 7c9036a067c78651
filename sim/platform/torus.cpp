#include "platform/torus.hpp"

namespace trainyard {
namespace {

/// The router `by` places further (1 or -1) along one dimension.
int neighbour(int router, int size, int stride, int by) {
  const int place = router / stride % size;
  return router + ((place + by + size) % size - place) * stride;
}

}  // namespace

Torus::Torus(const Fabric& fabric)
    : rates_(link_rates(fabric, fabric.torus.link.value)),
      latency_(fabric.latency.value),
      hop_latency_(fabric.hop_latency.value) {
  for (const int size : fabric.torus.dimensions) {
    const std::uint32_t out = size == 1 ? 0 : size == 2 ? 1 : 2;
    dimensions_.push_back(
        {.size = size, .stride = static_cast<int>(routers_), .first_link = per_router_, .links = out});
    routers_ *= unsigned_of(size);
    per_router_ += out;
  }
}

std::string Torus::router_name(int router) const {
  std::string name = "router";
  for (const Dimension& along : dimensions_) {
    if (&along != dimensions_.data()) name += '.';
    name += std::to_string(router / along.stride % along.size);
  }
  return name;
}

std::string Torus::name(std::uint32_t link) const {
  const int router = static_cast<int>(link / per_router_);
  const std::uint32_t port = link % per_router_;
  for (const Dimension& along : dimensions_) {
    if (port < along.first_link || port >= along.first_link + along.links) continue;
    const int by = port == along.first_link ? 1 : -1;
    return router_name(router) + "->" + router_name(neighbour(router, along.size, along.stride, by));
  }
  return {};
}

std::optional<Seconds> Torus::append_route(Port from, Port to, std::uint32_t first,
                                           std::vector<LinkId>& links) const {
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
  return latency_ + hop_latency_ * hops;
}

}  // namespace trainyard
