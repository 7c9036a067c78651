#pragma once
// Max-min fair rates as the textbook computes them.

#include "units/quantity.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace trainyard::testing {

/// By flow: the links that it crosses; one named k times carries k times as much.
using Ways = std::vector<std::vector<int>>;

/// Max-min fair rates by progressive filling.
inline std::vector<double> rates(const std::vector<Bandwidth>& links, const Ways& ways) {
  std::vector<double> rate(ways.size(), 0);
  std::vector<bool> is_fixed(ways.size(), false);
  std::vector<double> left;
  for (const Bandwidth link : links) left.push_back(link.si());
  for (std::size_t round = 0; round < ways.size(); ++round) {
    double share = std::numeric_limits<double>::infinity();
    std::size_t tightest = 0;
    std::vector<double> weight(links.size(), 0);
    for (std::size_t way = 0; way < ways.size(); ++way) {
      if (is_fixed[way]) continue;
      for (const int link : ways[way]) ++weight[static_cast<std::size_t>(link)];
    }
    for (std::size_t link = 0; link < links.size(); ++link) {
      if (weight[link] > 0 && left[link] / weight[link] < share) {
        share = left[link] / weight[link];
        tightest = link;
      }
    }
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const bool crosses =
          std::find(ways[way].begin(), ways[way].end(), static_cast<int>(tightest)) != ways[way].end();
      if (is_fixed[way] || !crosses) continue;
      is_fixed[way] = true;
      rate[way] = share;
      for (const int link : ways[way]) left[static_cast<std::size_t>(link)] -= share;
    }
  }
  return rate;
}

}  // namespace trainyard::testing
