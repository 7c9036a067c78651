#include "platform/ring_search.hpp"

#include <algorithm>
#include <numeric>

namespace trainyard {
namespace {

constexpr long step_budget = 2'000'000;

/// Depth-first search for a list of tours, one after the other, on the lanes the earlier ones left. A tour
/// starts at `first`, visits every GPU once and ends at `last`; a ring ends where it starts.
class TourSearch {
public:
  TourSearch(const LaneGraph& lanes, std::span<const PathEnds> tours, bool are_rings)
      : tours_(tours),
        are_rings_(are_rings),
        gpus_(static_cast<std::size_t>(lanes.gpus)),
        direct_(lanes.direct),
        out_(lanes.ports),
        in_(lanes.ports) {}

  bool run() { return start(0); }
  [[nodiscard]] bool gave_up() const { return steps_ > step_budget; }
  [[nodiscard]] const std::vector<GpuOrder>& orders() const { return orders_; }

private:
  /// One hop of the tour in hand: to which GPU, and over which switch (-1: direct). Ordered as tried.
  struct Hop {
    int gpu;
    int through;
    friend auto operator<=>(const Hop&, const Hop&) = default;
  };

  bool start(std::size_t tour) {
    if (tour == tours_.size()) return true;
    orders_.push_back({tours_[tour].first});
    hops_.emplace_back();
    std::vector<char> visited(gpus_, 0);
    visited[static_cast<std::size_t>(tours_[tour].first)] = 1;
    if (extend(tour, visited)) return true;
    orders_.pop_back();
    hops_.pop_back();
    return false;
  }

  bool extend(std::size_t tour, std::vector<char>& visited) {
    const std::size_t length = orders_[tour].size();
    if (length == gpus_) {
      if (!are_rings_) return orders_[tour].back() == tours_[tour].last && start(tour + 1);
      return hop(tour, visited, tours_[tour].first);
    }
    for (std::size_t next = 0; next < gpus_; ++next) {
      if (visited[next] != 0) continue;
      const bool is_end = !are_rings_ && static_cast<int>(next) == tours_[tour].last;
      if (is_end != (!are_rings_ && length + 1 == gpus_)) continue;
      if (hop(tour, visited, static_cast<int>(next))) return true;
      if (gave_up()) return false;
    }
    return false;
  }

  /// Takes one lane to `next` in every way there is, and goes on from there.
  bool hop(std::size_t tour, std::vector<char>& visited, int next) {
    const auto from = static_cast<std::size_t>(orders_[tour].back());
    const auto to = static_cast<std::size_t>(next);
    for (int through = -1; through < static_cast<int>(out_.size()); ++through) {
      if (++steps_ > step_budget) return false;
      if (!is_in_order(tour, {next, through}) || !take(from, to, through)) continue;
      hops_[tour].push_back({next, through});
      const bool closes = orders_[tour].size() == gpus_;
      bool found = false;
      if (closes) {
        found = start(tour + 1);
      } else {
        orders_[tour].push_back(next);
        visited[to] = 1;
        found = extend(tour, visited);
      }
      if (found) return true;
      if (!closes) {
        visited[to] = 0;
        orders_[tour].pop_back();
      }
      hops_[tour].pop_back();
      give_back(from, to, through);
    }
    return false;
  }

  /// Rings are alike, so only the sorted one of the orders of a set of rings is tried.
  [[nodiscard]] bool is_in_order(std::size_t tour, Hop next) const {
    if (!are_rings_ || tour == 0) return true;
    const std::vector<Hop>& before = hops_[tour - 1];
    const std::vector<Hop>& now = hops_[tour];
    const bool ties = std::equal(now.begin(), now.end(), before.begin());
    return !ties || next >= before[now.size()];
  }

  bool take(std::size_t from, std::size_t to, int through) {
    if (through < 0) {
      if (direct_[from][to] == 0) return false;
      --direct_[from][to];
      return true;
    }
    const auto at = static_cast<std::size_t>(through);
    if (out_[at][from] == 0 || in_[at][to] == 0) return false;
    --out_[at][from];
    --in_[at][to];
    return true;
  }

  void give_back(std::size_t from, std::size_t to, int through) {
    if (through < 0) {
      ++direct_[from][to];
      return;
    }
    ++out_[static_cast<std::size_t>(through)][from];
    ++in_[static_cast<std::size_t>(through)][to];
  }

  std::span<const PathEnds> tours_;
  bool are_rings_;
  std::size_t gpus_;
  std::vector<std::vector<int>> direct_;  // lanes left from one GPU to another
  std::vector<std::vector<int>> out_;     // lanes left from a GPU into a switch
  std::vector<std::vector<int>> in_;      // lanes left from a switch to a GPU
  std::vector<GpuOrder> orders_;
  std::vector<std::vector<Hop>> hops_;
  long steps_ = 0;
};

int lanes_of(const LaneGraph& lanes, int gpu) {
  const auto at = static_cast<std::size_t>(gpu);
  int sum = std::accumulate(lanes.direct[at].begin(), lanes.direct[at].end(), 0);
  for (const std::vector<int>& port : lanes.ports) sum += port[at];
  return sum;
}

}  // namespace

RingSearch find_rings(const LaneGraph& lanes) {
  RingSearch result;
  if (lanes.gpus < 2) return result;
  int bound = lanes_of(lanes, 0);
  for (int gpu = 1; gpu < lanes.gpus; ++gpu) bound = std::min(bound, lanes_of(lanes, gpu));
  for (int count = bound; count > 0; --count) {
    const std::vector<PathEnds> rings(static_cast<std::size_t>(count), PathEnds{0, 0});
    TourSearch search(lanes, rings, true);
    if (search.run()) {
      result.rings = search.orders();
      return result;
    }
    if (search.gave_up()) result.is_exact = false;
  }
  return result;
}

std::optional<std::vector<GpuOrder>> find_paths(const LaneGraph& lanes, std::span<const PathEnds> ends) {
  TourSearch search(lanes, ends, false);
  if (!search.run()) return std::nullopt;
  return search.orders();
}

std::optional<GpuOrder> find_chain(const LaneGraph& lanes) {
  for (int first = 0; first < lanes.gpus; ++first) {
    for (int last = 0; last < lanes.gpus; ++last) {
      if (first == last && lanes.gpus > 1) continue;
      const PathEnds ends{first, last};
      if (auto found = find_paths(lanes, std::span(&ends, 1))) return found->front();
    }
  }
  return std::nullopt;
}

bool is_connected(const LaneGraph& lanes) {
  const auto gpus = static_cast<std::size_t>(lanes.gpus);
  std::vector<char> reached(gpus, 0);
  std::vector<std::size_t> open{0};
  reached[0] = 1;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (std::size_t next = 0; next < gpus; ++next) {
      const bool joined =
          lanes.direct[at][next] > 0 ||
          std::ranges::any_of(lanes.ports, [&](const auto& port) { return port[at] > 0 && port[next] > 0; });
      if (joined && reached[next] == 0) {
        reached[next] = 1;
        open.push_back(next);
      }
    }
  }
  return std::ranges::all_of(reached, [](char is_reached) { return is_reached != 0; });
}

}  // namespace trainyard
