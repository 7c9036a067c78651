// Exchanges between pairs of ranks 1, 2, 4 ... apart: halving-doubling and recursive doubling.
#include "collectives/algorithm_plans.hpp"
#include "collectives/edge_counter.hpp"
#include "collectives/requirements.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

/// The ranks of an all_reduce after folding those beyond a power of two.
struct Folded {
  std::vector<Rank> active;                   ///< a power of two of ranks
  std::vector<std::pair<Rank, Rank>> folded;  ///< folded ranks, each with the active rank it folds into
};

/// Among the first 2r ranks, even ones fold into the next rank; r is the number of ranks beyond a power of
/// two.
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

/// One round over these edges, the pairs of senders and receivers that `for_each` names.
template <class ForEach>
void add_round(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
               const CollectiveRequest& request, double share, std::size_t edges, ForEach for_each) {
  if (can_count(cluster, request)) {
    EdgeCounter counter(cluster, overheads, request.protocol);
    for_each([&](Rank from, Rank to) { counter.add(from, to); });
    add_rounds(plan, counter, 1, share, counter.largest_latency());
    return;
  }
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(edges);
  for_each([&](Rank from, Rank to) { maker.add(from, to); });
  add_rounds(plan, maker, 1, share, maker.largest_latency());
}

/// One round in which every folded rank sends its whole buffer or, at the end, receives the result.
void add_fold(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
              const CollectiveRequest& request, const Folded& ranks, bool is_end) {
  if (ranks.folded.empty()) return;
  add_round(plan, cluster, overheads, request, 1, ranks.folded.size(), [&](auto add) {
    for (const auto& [gone, stays] : ranks.folded) add(is_end ? stays : gone, is_end ? gone : stays);
  });
  add_sums(plan, overheads, is_end ? 0 : 1);
}

/// One round in which ranks `distance` apart, counted in `ranks`, send each other `share` of the size.
void add_exchange(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                  const CollectiveRequest& request, std::span<const Rank> ranks, int distance, double share) {
  add_round(plan, cluster, overheads, request, share, ranks.size(), [&](auto add) {
    for (std::size_t i = 0; i < ranks.size(); ++i) add(ranks[i], ranks[i ^ at(distance)]);
  });
  add_sums(plan, overheads, reduces(request.operation) ? 1 : 0);
}

/// The parts of a reduce return to its root, which is the active rank number `root`: rounds of recursive
/// halving in reverse: in each, half of the ranks with parts of the sum send all they have.
void add_gather(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                const CollectiveRequest& request, std::span<const Rank> ranks, std::size_t root) {
  for (std::size_t distance = ranks.size() / 2; distance >= 1; distance /= 2) {
    const double share = 0.5 / static_cast<double>(distance);
    add_round(plan, cluster, overheads, request, share, distance, [&](auto add) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if ((i ^ root) / distance == 1) add(ranks[i], ranks[i ^ distance]);
      }
    });
  }
}

/// A reduce: folded ranks hand over their buffers, recursive halving leaves a part of the sum on each active
/// rank, and the root gathers the parts. A folded root gets the result from its active rank.
void add_reduce(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                const CollectiveRequest& request, const Folded& ranks) {
  add_fold(plan, cluster, overheads, request, ranks, false);
  const auto count = static_cast<int>(ranks.active.size());
  for (int distance = 1; distance < count; distance *= 2)
    add_exchange(plan, cluster, overheads, request, ranks.active, distance, 0.5 / distance);
  const auto folded_root = std::ranges::find(ranks.folded, request.root, &std::pair<Rank, Rank>::first);
  const Rank gathers = folded_root == ranks.folded.end() ? request.root : folded_root->second;
  add_gather(plan, cluster, overheads, request, ranks.active,
             static_cast<std::size_t>(std::ranges::find(ranks.active, gathers) - ranks.active.begin()));
  if (folded_root == ranks.folded.end()) return;
  add_round(plan, cluster, overheads, request, 1, 1, [&](auto add) { add(gathers, request.root); });
}

}  // namespace

CollectivePlan halving_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                const CollectiveRequest& request) {
  require(cluster, request, Algorithm::halving_doubling);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::halving_doubling);
  const Folded ranks = folded(request.group);
  const auto count = static_cast<int>(ranks.active.size());
  const auto exchange = [&](int distance, double share) {
    add_exchange(plan, cluster, overheads, request, ranks.active, distance, share);
  };
  switch (request.operation) {
    case Operation::reduce_scatter:
      for (int distance = count / 2; distance >= 1; distance /= 2)
        exchange(distance, static_cast<double>(distance) / count);
      break;
    case Operation::all_gather:
      for (int distance = 1; distance < count; distance *= 2)
        exchange(distance, static_cast<double>(distance) / count);
      break;
    case Operation::reduce:
      add_reduce(plan, cluster, overheads, request, ranks);
      break;
    default:
      add_fold(plan, cluster, overheads, request, ranks, false);
      const std::size_t first = plan.phases.size();
      for (int distance = 1; distance < count; distance *= 2) exchange(distance, 0.5 / distance);
      for (std::size_t phase = plan.phases.size(); phase-- > first;) repeat_rounds(plan, phase);
      add_fold(plan, cluster, overheads, request, ranks, true);
  }
  if (can_count(cluster, request)) add_sources(plan, cluster, overheads, request, halving_doubling);
  return plan;
}

CollectivePlan recursive_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                  const CollectiveRequest& request) {
  require(cluster, request, Algorithm::recursive_doubling);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::recursive_doubling);
  const Folded ranks = folded(request.group);
  const auto count = static_cast<int>(ranks.active.size());
  add_fold(plan, cluster, overheads, request, ranks, false);
  for (int distance = 1; distance < count; distance *= 2) {
    const bool is_gathering = request.operation == Operation::all_gather;
    add_exchange(plan, cluster, overheads, request, ranks.active, distance,
                 is_gathering ? static_cast<double>(distance) / count : 1.0);
  }
  add_fold(plan, cluster, overheads, request, ranks, true);
  if (can_count(cluster, request)) add_sources(plan, cluster, overheads, request, recursive_doubling);
  return plan;
}

}  // namespace trainyard
