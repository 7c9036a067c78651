#pragma once
// Max-min fair rates as the textbook computes them.

#include "units/quantity.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace trainyard::testing {

/// By flow: the links that it crosses; one named k times carries k times as much.
using Routes = std::vector<std::vector<int>>;

/// Max-min fair rates by progressive filling.
inline std::vector<double> rates(const std::vector<Bandwidth>& links, const Routes& routes) {
  std::vector<double> rate(routes.size(), 0);
  std::vector<bool> is_fixed(routes.size(), false);
  std::vector<double> left;
  for (const Bandwidth link : links) left.push_back(link.si());
  for (std::size_t round = 0; round < routes.size(); ++round) {
    double share = std::numeric_limits<double>::infinity();
    std::size_t bottleneck = 0;
    std::vector<double> weight(links.size(), 0);
    for (std::size_t route = 0; route < routes.size(); ++route) {
      if (is_fixed[route]) continue;
      for (const int link : routes[route]) ++weight[static_cast<std::size_t>(link)];
    }
    for (std::size_t link = 0; link < links.size(); ++link) {
      if (weight[link] > 0 && left[link] / weight[link] < share) {
        share = left[link] / weight[link];
        bottleneck = link;
      }
    }
    for (std::size_t route = 0; route < routes.size(); ++route) {
      const bool crosses = std::find(routes[route].begin(), routes[route].end(),
                                     static_cast<int>(bottleneck)) != routes[route].end();
      if (is_fixed[route] || !crosses) continue;
      is_fixed[route] = true;
      rate[route] = share;
      for (const int link : routes[route]) left[static_cast<std::size_t>(link)] -= share;
    }
  }
  return rate;
}

}  // namespace trainyard::testing
