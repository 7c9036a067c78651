#include "engine/tight_links.hpp"

#include "units/ids.hpp"

#include <map>
#include <numeric>
#include <utility>

namespace trainyard::engine {

namespace {

/// Which ways use a link how often.
using Uses = std::vector<std::pair<int, int>>;

/// In lowest terms; returns by what it was divided.
int reduce(Uses& uses) {
  int divisor = 0;
  for (const auto& [way, times] : uses) divisor = std::gcd(divisor, times);
  for (auto& [way, times] : uses) times /= divisor;
  return divisor;
}

}  // namespace

TightLinks tight_links(std::span<const Bandwidth> links, std::span<const std::span<const int>> ways) {
  std::vector<Uses> uses(links.size());
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const auto number = static_cast<int>(way);
    for (const int link : ways[way]) {
      Uses& its = uses[at(link)];
      if (its.empty() || its.back().first != number) its.emplace_back(number, 0);
      ++its.back().second;
    }
  }
  TightLinks tight;
  std::map<Uses, std::size_t> known;
  for (std::size_t link = 0; link < links.size(); ++link) {
    if (uses[link].empty()) continue;
    const int divisor = reduce(uses[link]);
    const Bandwidth capacity = links[link] / static_cast<double>(divisor);
    const auto [found, is_new] = known.try_emplace(std::move(uses[link]), tight.links.size());
    if (is_new)
      tight.links.push_back(capacity);
    else
      tight.links[found->second] = std::min(tight.links[found->second], capacity);
  }
  tight.routes.resize(ways.size());
  for (const auto& [its, link] : known) {
    for (const auto& [way, times] : its)
      tight.routes[at(way)].insert(tight.routes[at(way)].end(), at(times), static_cast<int>(link));
  }
  return tight;
}

}  // namespace trainyard::engine
