#include "collectives/collective.hpp"

#include <algorithm>

namespace trainyard {

void Pattern::add_edge(Edge edge, std::span<const LinkId> route) {
  edges.push_back(edge);
  links.insert(links.end(), route.begin(), route.end());
  offsets.push_back(static_cast<std::uint32_t>(links.size()));
}

std::span<const LinkId> Pattern::route(std::size_t edge) const {
  return std::span(links).subspan(offsets[edge], offsets[edge + 1] - offsets[edge]);
}

std::vector<LinkUse> link_uses(const Pattern& pattern) {
  std::vector<LinkId> sorted = pattern.links;
  std::sort(sorted.begin(), sorted.end());
  std::vector<LinkUse> uses;
  for (const LinkId link : sorted) {
    if (uses.empty() || uses.back().link != link) uses.push_back({link, 0});
    ++uses.back().times;
  }
  return uses;
}

Bandwidth lockstep_rate(const Pattern& pattern, std::span<const LinkUse> uses,
                        std::span<const Bandwidth> capacities) {
  Bandwidth rate = pattern.limit;
  for (const LinkUse& use : uses) rate = std::min(rate, capacities[index(use.link)] / use.times);
  return rate;
}

Seconds closed_form(const Collective& collective, Bandwidth lockstep_rate) {
  return collective.overhead + (collective.latency + collective.bytes / lockstep_rate) * collective.rounds;
}

Bytes bytes_sent(const Collective& collective, const Pattern& pattern) {
  return collective.bytes *
         (static_cast<double>(collective.rounds) * static_cast<double>(pattern.edges.size()));
}

}  // namespace trainyard
