#include "plan/plan_work.hpp"

#include "plan/plan_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

// Measured in November 2026: GPT-3 175B 6 layouts, GPT-3 5B 7, Llama 3 70B 10, Llama 3 405B 14.
constexpr std::size_t simulated_of_group = 14;
// The best and eight others (report/plan_report.hpp), then the best for the answer.
constexpr double compared = 10;
constexpr double simulated_of_changes = 20;  // assumed

/// The blocks that the search of each group replays.
std::vector<double> replayed_of_groups(const PlanSpace& space) {
  std::vector<std::vector<std::pair<double, double>>> of_group(space.groups.size());  // bound, blocks
  for (std::size_t i = 0; i < space.bounds.size(); ++i) {
    const std::size_t group = space.bounds[i].group;
    of_group[group].emplace_back(searched_bound(space, space.bounds[i]),
                                 1.0 * space.layouts[i].micro_batches * space.groups[group].blocks);
  }
  std::vector<double> replayed;
  for (std::vector<std::pair<double, double>>& points : of_group) {
    const auto first = static_cast<std::ptrdiff_t>(std::min(simulated_of_group, points.size()));
    std::ranges::partial_sort(points, points.begin() + first);
    replayed.push_back(std::accumulate(points.begin(), points.begin() + first, 0.0,
                                       [](double sum, const auto& point) { return sum + point.second; }));
  }
  return replayed;
}

}  // namespace

Work work_of_search(const PlanSpace& space, bool with_changes, int parallel) {
  Work work{.planned_layouts = static_cast<double>(space.bounds.size()) / parallel};
  for (const PointBound& bound : space.bounds)
    work.planned_ranks += static_cast<double>(space.groups[bound.group].gpus) / parallel;
  const std::vector<double> replayed = replayed_of_groups(space);
  const double after = (compared + (with_changes ? simulated_of_changes : 0)) / simulated_of_group;
  work.replayed_blocks =
      (std::accumulate(replayed.begin(), replayed.end(), 0.0) + after * *std::ranges::max_element(replayed)) /
      parallel;
  if (space.randomness) work.replayed_blocks *= 2;  // with a slow slowest GPU as well
  return work;
}

}  // namespace trainyard
