#pragma once
// Keeps the few links of a network that can be a bottleneck. Among links that all routes use in the same
// proportions, the one with the least capacity stands for all. A link that flows cannot saturate is dropped:
// each route has at most one flow, no faster than the slowest link of the route, and all routes over another
// link send no more than that link carries (a server's memory behind its NIC). Exact for max-min sharing; a
// worker that sends to 64 equal servers loads a few links, not hundreds.

#include "units/quantity.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

struct BottleneckLinks {
  std::vector<Bandwidth> links;
  std::vector<std::vector<int>> routes;  ///< indices in `links`; a link named k times weighs k
};

/// `routes`: indices into `links`; a link named k times carries k times as much. A route has at most one flow
/// at a time.
BottleneckLinks bottleneck_links(std::span<const Bandwidth> links,
                                 std::span<const std::span<const int>> routes);

}  // namespace trainyard::engine
