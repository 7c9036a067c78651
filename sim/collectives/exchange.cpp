#include "collectives/exchange.hpp"

#include <bit>

namespace trainyard {

Folded folded(std::span<const Rank> group) {
  const std::size_t extra = group.size() - std::bit_floor(group.size());
  Folded ranks;
  for (std::size_t i = 0; i < 2 * extra; i += 2) {
    ranks.folded.emplace_back(group[i], group[i + 1]);
    ranks.active.push_back(group[i + 1]);
  }
  ranks.active.insert(ranks.active.end(), group.begin() + static_cast<std::ptrdiff_t>(2 * extra),
                      group.end());
  return ranks;
}

void add_fold(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
              const Folded& ranks, bool is_end) {
  if (ranks.folded.empty()) return;
  PatternMaker maker(cluster, overheads, plan.protocol);
  maker.reserve(ranks.folded.size());
  for (const auto& [gone, stays] : ranks.folded) maker.add(is_end ? stays : gone, is_end ? gone : stays);
  const Seconds latency = maker.largest_latency();
  add_rounds(plan, maker, 1, 1, latency);
}

void add_exchange(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                  std::span<const Rank> ranks, int distance, double share) {
  PatternMaker maker(cluster, overheads, plan.protocol);
  maker.reserve(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) maker.add(ranks[i], ranks[i ^ at(distance)]);
  const Seconds latency = maker.largest_latency();
  add_rounds(plan, maker, 1, share, latency);
}

}  // namespace trainyard
