#include "engine/limiting_links.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace trainyard::engine {

namespace {

/// The ways that use a link, and how often: (way, times).
using Uses = std::vector<std::pair<int, int>>;

/// Reduces `times` to lowest terms; returns the divisor.
int reduce(Uses& uses) {
  int divisor = 0;
  for (const auto& [way, times] : uses) divisor = std::gcd(divisor, times);
  for (auto& [way, times] : uses) times /= divisor;
  return divisor;
}

struct TightRow {
  Uses uses;
  Bandwidth capacity;
};

/// One row for all links used in the same proportions, in the order of their first link.
std::vector<TightRow> merged_rows(std::span<const Bandwidth> links,
                                  std::span<const std::span<const int>> ways) {
  std::vector<Uses> uses(links.size());
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const auto number = static_cast<int>(way);
    for (const int link : ways[way]) {
      Uses& its = uses[at(link)];
      if (its.empty() || its.back().first != number) its.emplace_back(number, 0);
      ++its.back().second;
    }
  }
  std::vector<TightRow> rows;
  std::map<Uses, std::size_t> known;
  for (std::size_t link = 0; link < links.size(); ++link) {
    if (uses[link].empty()) continue;
    const Bandwidth capacity = links[link] / static_cast<double>(reduce(uses[link]));
    const auto [found, is_new] = known.try_emplace(uses[link], rows.size());
    if (is_new)
      rows.push_back({std::move(uses[link]), capacity});
    else
      rows[found->second].capacity = std::min(rows[found->second].capacity, capacity);
  }
  return rows;
}

/// Keeps a row if it is the slowest on one of its ways, or if its ways together could fill it.
void drop_slack(std::vector<TightRow>& rows, std::size_t ways) {
  std::vector<double> fastest(ways, std::numeric_limits<double>::infinity());  // alone on the network
  for (const TightRow& row : rows) {
    for (const auto& [way, times] : row.uses)
      fastest[at(way)] = std::min(fastest[at(way)], row.capacity.si() / times);
  }
  std::erase_if(rows, [&](const TightRow& row) {
    double all = 0;
    for (const auto& [way, times] : row.uses) {
      if (row.capacity.si() / times <= fastest[at(way)]) return false;
      all += times * fastest[at(way)];
    }
    return all <= row.capacity.si();
  });
}

}  // namespace

LimitingLinks limiting_links(std::span<const Bandwidth> links, std::span<const std::span<const int>> ways) {
  std::vector<TightRow> rows = merged_rows(links, ways);
  drop_slack(rows, ways.size());
  LimitingLinks tight;
  tight.routes.resize(ways.size());
  for (const TightRow& row : rows) {
    for (const auto& [way, times] : row.uses)
      tight.routes[at(way)].insert(tight.routes[at(way)].end(), at(times),
                                   static_cast<int>(tight.links.size()));
    tight.links.push_back(row.capacity);
  }
  return tight;
}

}  // namespace trainyard::engine
