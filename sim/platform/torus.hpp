#pragma once
// A torus of two or three dimensions: one router per node, joined to both neighbours along every dimension,
// with wrap-around. All NICs of a node feed its router.

#include "platform/fabric_port.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// See FabricNetwork. A route goes along x first, then y, then z, each in the shorter direction and, if both
/// are equally long, towards larger coordinates. So the opposite route may have different links, but as many.
/// If a dimension has only two routers, one link joins them, not two.
class Torus {
public:
  explicit Torus(const Fabric& fabric);

  [[nodiscard]] std::uint32_t links() const { return routers_ * per_router_; }
  [[nodiscard]] LinkRates rates(std::uint32_t /*link*/) const { return rates_; }
  [[nodiscard]] std::string name(std::uint32_t link) const;
  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const;

private:
  struct Dimension {
    int size = 1;
    int stride = 1;                ///< between numbers of neighbouring routers
    std::uint32_t first_link = 0;  ///< of the links out of one router: upwards, then downwards
    std::uint32_t links = 0;       ///< out of one router: none, only upwards, or both
  };

  [[nodiscard]] std::string router_name(int router) const;

  std::vector<Dimension> dimensions_;
  std::uint32_t routers_ = 1;
  std::uint32_t per_router_ = 0;
  LinkRates rates_;
  Seconds latency_;
  Seconds hop_latency_;
};

}  // namespace trainyard
