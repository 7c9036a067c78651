#pragma once
// Keeps the few links of a network that can hold up a flow. Among links that all ways use in the same
// proportions, the one with the least capacity stands for all. A link that can carry everything its ways
// could send at once is dropped: each way has at most one flow, no faster than the slowest link on the way,
// and all ways over another link send no more than that lets through (a server's memory behind its NIC).
// Exact for max-min sharing; a worker that sends to 64 equal servers loads a few links, not hundreds.

#include "units/quantity.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

struct LimitingLinks {
  std::vector<Bandwidth> links;
  std::vector<std::vector<int>> routes;  ///< by way: indices in `links`; a link named k times weighs k
};

/// `ways`: indices into `links`; a link named k times carries k times as much. A way has at most one flow at
/// a time.
LimitingLinks limiting_links(std::span<const Bandwidth> links, std::span<const std::span<const int>> ways);

}  // namespace trainyard::engine
