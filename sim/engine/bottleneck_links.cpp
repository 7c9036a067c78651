#include "engine/bottleneck_links.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace trainyard::engine {

namespace {

/// The routes over a link: (route, times).
using Uses = std::vector<std::pair<int, int>>;

/// Reduces `times` to lowest terms; returns the divisor.
int reduce(Uses& uses) {
  int divisor = 0;
  for (const auto& [route, times] : uses) divisor = std::gcd(divisor, times);
  for (auto& [route, times] : uses) times /= divisor;
  return divisor;
}

struct MergedLink {
  Uses uses;
  Bandwidth capacity;
};

/// Merges links used in the same proportions, in the order of their first link.
std::vector<MergedLink> merged_links(std::span<const Bandwidth> links,
                                     std::span<const std::span<const int>> routes) {
  std::vector<Uses> uses(links.size());
  for (std::size_t route = 0; route < routes.size(); ++route) {
    const auto number = static_cast<int>(route);
    for (const int link : routes[route]) {
      Uses& of_link = uses[at(link)];
      if (of_link.empty() || of_link.back().first != number) of_link.emplace_back(number, 0);
      ++of_link.back().second;
    }
  }
  std::vector<MergedLink> merged;
  std::map<Uses, std::size_t> known;
  for (std::size_t link = 0; link < links.size(); ++link) {
    if (uses[link].empty()) continue;
    const Bandwidth capacity = links[link] / static_cast<double>(reduce(uses[link]));
    const auto [found, is_new] = known.try_emplace(uses[link], merged.size());
    if (is_new)
      merged.push_back({std::move(uses[link]), capacity});
    else
      merged[found->second].capacity = std::min(merged[found->second].capacity, capacity);
  }
  return merged;
}

/// Finds the largest load that flows can put on a link at once, given the other links.
class MostCarried {
public:
  MostCarried(std::span<const MergedLink> merged, std::size_t routes)
      : links_(merged), is_kept_(merged.size(), 1), uses_of_(routes), fastest_(routes), times_(routes, 0) {
    for (std::size_t link = 0; link < merged.size(); ++link) {
      for (const auto& [route, times] : merged[link].uses) uses_of_[at(route)].emplace_back(link, times);
    }
    for (std::size_t route = 0; route < routes; ++route) {
      fastest_[route] = std::numeric_limits<double>::infinity();
      for (const auto& [link, times] : uses_of_[route])
        fastest_[route] = std::min(fastest_[route], merged[link].capacity.si() / times);
    }
  }

  /// Whether the link is the slowest on one of its routes.
  [[nodiscard]] bool is_slowest_of_a_route(std::size_t number) const {
    const MergedLink& link = links_[number];
    return std::ranges::any_of(link.uses, [&](const auto& use) {
      return link.capacity.si() / use.second <= fastest_[at(use.first)];
    });
  }

  /// An upper bound of the load, in bytes per second: the rates of the routes alone on the network or, where
  /// this is less, the rate that another link allows to all routes that cross both.
  [[nodiscard]] double over(std::size_t number) {
    double most = 0;
    for (const auto& [route, times] : links_[number].uses) {
      times_[at(route)] = times;
      most += times * fastest_[at(route)];
    }
    for (const Cover& cover : covers_of(number)) {
      double alone = 0;
      for (const auto& [route, times] : links_[cover.link].uses)
        alone += times_[at(route)] * fastest_[at(route)];
      if (cover.together >= alone) continue;
      most += cover.together - alone;
      for (const auto& [route, times] : links_[cover.link].uses) times_[at(route)] = 0;
    }
    for (const auto& [route, times] : links_[number].uses) times_[at(route)] = 0;
    return most;
  }

  void drop(std::size_t number) { is_kept_[number] = 0; }
  [[nodiscard]] bool is_kept(std::size_t number) const { return is_kept_[number] != 0; }

private:
  struct Cover {
    std::size_t link = 0;
    double together = 0;  ///< load, in bytes per second, that the other link allows to the routes over both
    double alone = 0;     ///< load of these routes, each alone on the network
  };

  /// The kept links that carry less than their routes could send, the tightest first.
  [[nodiscard]] std::vector<Cover> covers_of(std::size_t number) const {
    std::map<std::size_t, Cover> all;
    for (const auto& [route, times] : links_[number].uses) {
      for (const auto& [other, other_times] : uses_of_[at(route)]) {
        if (other == number || !is_kept(other)) continue;
        Cover& cover = all[other];
        const double ratio = static_cast<double>(times) / other_times;
        cover.together = std::max(cover.together, ratio * links_[other].capacity.si());
        cover.alone += times * fastest_[at(route)];
      }
    }
    std::vector<Cover> covers;
    for (const auto& [link, cover] : all) {
      if (cover.together < cover.alone) covers.push_back({link, cover.together, cover.alone});
    }
    std::ranges::stable_sort(covers, std::greater<>(),
                             [](const Cover& cover) { return cover.alone - cover.together; });
    return covers;
  }

  std::span<const MergedLink> links_;
  std::vector<char> is_kept_;
  std::vector<std::vector<std::pair<std::size_t, int>>> uses_of_;  ///< by route: link and times
  std::vector<double> fastest_;                                    ///< by route: rate alone on the network
  std::vector<int> times_;  ///< by route: how often it crosses the link that over() looks at
};

/// Keeps a link if it is the slowest of a route, or if its routes together could saturate it. A dropped link
/// no longer justifies that others are dropped, so the kept links imply all.
void drop_slack(std::vector<MergedLink>& merged, std::size_t routes) {
  MostCarried most(merged, routes);
  for (std::size_t link = 0; link < merged.size(); ++link) {
    if (!most.is_slowest_of_a_route(link) && most.over(link) <= merged[link].capacity.si()) most.drop(link);
  }
  std::size_t number = 0;
  std::erase_if(merged, [&](const MergedLink&) { return !most.is_kept(number++); });
}

}  // namespace

BottleneckLinks bottleneck_links(std::span<const Bandwidth> links,
                                 std::span<const std::span<const int>> routes) {
  std::vector<MergedLink> merged = merged_links(links, routes);
  drop_slack(merged, routes.size());
  BottleneckLinks kept;
  kept.routes.resize(routes.size());
  for (const MergedLink& link : merged) {
    for (const auto& [route, times] : link.uses)
      kept.routes[at(route)].insert(kept.routes[at(route)].end(), at(times),
                                    static_cast<int>(kept.links.size()));
    kept.links.push_back(link.capacity);
  }
  return kept;
}

}  // namespace trainyard::engine
