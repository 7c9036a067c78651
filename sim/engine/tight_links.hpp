#pragma once
// The few links of a network that can hold anything up. Of links that all ways use in the same proportions
// only the tightest can: it stands for all of them. And a link that lets through all that its ways could send
// at once never does: each way has one flow at most, no faster than its own tightest link. Exact for max-min
// sharing; a worker that sends to 64 alike servers loads a few links, not hundreds.

#include "units/quantity.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

struct TightLinks {
  std::vector<Bandwidth> links;
  std::vector<std::vector<int>> routes;  ///< of each way: those of its links; one named k times weighs k
};

/// `ways`: indices into `links`, one named k times carries k times as much. On a way is no more than one flow
/// at a time.
TightLinks tight_links(std::span<const Bandwidth> links, std::span<const std::span<const int>> ways);

}  // namespace trainyard::engine
