#include "platform/ring_search.hpp"

#include "platform/min_cut.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace trainyard {
namespace {

constexpr long paths_budget = 2'000'000;
// The order of the GPUs usually decides whether a search succeeds at once or never, so most of the time goes
// to other orders: 16 of them find every ring of a 4 x 4 torus, one long search does not.
constexpr long rings_budget = 200'000;
constexpr long shuffled_budget = 50'000;
constexpr int shuffles = 16;

/// Depth-first search for a list of tours, one after the other, on the lanes the earlier ones left. A tour
/// starts at `first`, visits every GPU once and ends at `last`; a ring ends where it starts.
class TourSearch {
public:
  TourSearch(const LaneGraph& lanes, std::span<const PathEnds> tours, bool are_rings, long step_budget)
      : step_budget_(step_budget),
        tours_(tours),
        are_rings_(are_rings),
        gpus_(at(lanes.gpus)),
        direct_(lanes.direct),
        out_(lanes.ports),
        in_(lanes.ports) {}

  bool run() { return start(0); }
  [[nodiscard]] long steps() const { return steps_; }
  [[nodiscard]] bool gave_up() const { return steps_ > step_budget_; }
  [[nodiscard]] const std::vector<GpuOrder>& orders() const { return orders_; }

private:
  /// One hop of the current tour: the next GPU, and the switch used (-1: none). Ordered as tried.
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
    visited[at(tours_[tour].first)] = 1;
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

  /// Takes one lane to `next`, in each possible way, and continues from there.
  bool hop(std::size_t tour, std::vector<char>& visited, int next) {
    const std::size_t from = at(orders_[tour].back());
    const std::size_t to = at(next);
    for (int through = -1; through < static_cast<int>(out_.size()); ++through) {
      if (++steps_ > step_budget_) return false;
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

  /// A permutation of a set of rings is the same set, so only sorted ones are tried.
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
    if (out_[at(through)][from] == 0 || in_[at(through)][to] == 0) return false;
    --out_[at(through)][from];
    --in_[at(through)][to];
    return true;
  }

  void give_back(std::size_t from, std::size_t to, int through) {
    if (through < 0) {
      ++direct_[from][to];
      return;
    }
    ++out_[at(through)][from];
    ++in_[at(through)][to];
  }

  long step_budget_;
  std::span<const PathEnds> tours_;
  bool are_rings_;
  std::size_t gpus_;
  std::vector<std::vector<int>> direct_;  // remaining lanes from one GPU to another
  std::vector<std::vector<int>> out_;     // remaining lanes from a GPU into a switch
  std::vector<std::vector<int>> in_;      // remaining lanes from a switch to a GPU
  std::vector<GpuOrder> orders_;
  std::vector<std::vector<Hop>> hops_;
  long steps_ = 0;
};

/// The lanes as edges of a flow: GPUs are numbered first, then switches.
std::vector<FlowEdge> lane_flow(const LaneGraph& lanes) {
  const std::size_t gpus = at(lanes.gpus);
  std::vector<FlowEdge> edges;
  const auto add = [&](std::size_t from, std::size_t to, int count) {
    if (count > 0) edges.push_back({from, to, count});
  };
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = 0; b < gpus; ++b) add(a, b, lanes.direct[a][b]);
    for (std::size_t port = 0; port < lanes.ports.size(); ++port) {
      add(a, gpus + port, lanes.ports[port][a]);
      add(gpus + port, a, lanes.ports[port][a]);
    }
  }
  return edges;
}

/// A ring crosses every cut of the GPUs in both directions, so there are at most as many rings as the
/// smallest cut has lanes.
int most_rings(const LaneGraph& lanes) {
  const std::size_t gpus = at(lanes.gpus);
  const std::vector<FlowEdge> edges = lane_flow(lanes);
  long long most = std::numeric_limits<int>::max();
  for (std::size_t gpu = 1; gpu < gpus; ++gpu)
    most = std::min(most, maximum_flow(gpus + lanes.ports.size(), edges, 0, gpu));
  return static_cast<int>(most);
}

/// The same lanes with the GPUs in another order.
LaneGraph reordered(const LaneGraph& lanes, const GpuOrder& order) {
  LaneGraph result = lanes;
  for (std::size_t a = 0; a < order.size(); ++a) {
    const std::size_t from = at(order[a]);
    for (std::size_t b = 0; b < order.size(); ++b) result.direct[a][b] = lanes.direct[from][at(order[b])];
    for (std::size_t port = 0; port < lanes.ports.size(); ++port)
      result.ports[port][a] = lanes.ports[port][from];
  }
  return result;
}

/// The next of a fixed sequence of orders (Knuth's generator and shuffle): the same on every machine.
void shuffle(GpuOrder& order, std::uint64_t& state) {
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::swap(order[i], order[(state >> 33U) % (i + 1)]);
  }
}

/// The number of paths that share a number of lanes.
struct Load {
  int paths = 1, lanes = 1;

  friend bool operator<(Load a, Load b) { return a.paths * b.lanes < b.paths * a.lanes; }
};

/// The loads, from one path per lane up, at which some link has room for another path, up to `most` on one
/// link; in ascending order.
std::vector<Load> loads(const LaneGraph& lanes, int most) {
  std::set<int> widths;
  for (const auto* table : {&lanes.direct, &lanes.ports}) {
    for (const std::vector<int>& row : *table) widths.insert(row.begin(), row.end());
  }
  widths.erase(0);
  std::set<Load> all;
  for (const int width : widths) {
    for (int paths = width; paths <= std::max(width, most); ++paths) all.insert({paths, width});
  }
  return {all.begin(), all.end()};
}

/// One lane for each path that fits on a link at a load.
LaneGraph loaded(LaneGraph lanes, Load load) {
  for (auto* table : {&lanes.direct, &lanes.ports}) {
    for (std::vector<int>& row : *table) {
      for (int& count : row) count = count * load.paths / load.lanes;
    }
  }
  return lanes;
}

/// Whether each GPU has as many lanes as paths leave it, and as come to it: else no search is needed.
bool have_lanes(const LaneGraph& lanes, std::span<const PathEnds> ends) {
  for (int gpu = 0; gpu < lanes.gpus; ++gpu) {
    const std::vector<int>& direct = lanes.direct[at(gpu)];
    int count = std::accumulate(direct.begin(), direct.end(), 0);
    for (const std::vector<int>& port : lanes.ports) count += port[at(gpu)];
    const auto starts = std::ranges::count(ends, gpu, &PathEnds::first);
    const auto stops = std::ranges::count(ends, gpu, &PathEnds::last);
    if (count < std::ssize(ends) - std::min(starts, stops)) return false;
  }
  return true;
}

enum class Outcome { found, impossible, gave_up };

/// `count` rings in the order of the GPUs or, if the search takes too long, in other orders.
Outcome search_rings(const LaneGraph& lanes, int count, RingSearch& result) {
  const std::vector<PathEnds> tours(at(count), PathEnds{0, 0});
  GpuOrder order(at(lanes.gpus));
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t state = 1;
  for (int attempt = 0; attempt <= shuffles; ++attempt) {
    if (attempt > 0) shuffle(order, state);
    TourSearch search(reordered(lanes, order), tours, true, attempt == 0 ? rings_budget : shuffled_budget);
    const bool has_found = search.run();
    result.steps += search.steps();
    if (has_found) {
      result.rings = search.orders();
      for (GpuOrder& ring : result.rings) {
        for (int& gpu : ring) gpu = order[at(gpu)];
        std::ranges::rotate(ring, std::ranges::find(ring, 0));
      }
      return Outcome::found;
    }
    if (!search.gave_up()) return Outcome::impossible;
  }
  return Outcome::gave_up;
}

}  // namespace

RingSearch find_rings(const LaneGraph& lanes) {
  RingSearch result;
  if (lanes.gpus < 2) return result;
  for (int count = most_rings(lanes); count > 0; --count) {
    const Outcome outcome = search_rings(lanes, count, result);
    if (outcome == Outcome::found) break;
    if (outcome == Outcome::gave_up) result.is_exact = false;
  }
  return result;
}

std::optional<std::vector<GpuOrder>> find_paths(const LaneGraph& lanes, std::span<const PathEnds> ends) {
  TourSearch search(lanes, ends, false, paths_budget);
  if (!search.run()) return std::nullopt;
  return search.orders();
}

std::optional<std::vector<GpuOrder>> least_crowded_paths(const LaneGraph& lanes,
                                                         std::span<const PathEnds> ends) {
  if (lanes.gpus == 1) return find_paths(lanes, ends);  // each path stays where it is
  for (const Load load : loads(lanes, static_cast<int>(ends.size()))) {
    const LaneGraph places = loaded(lanes, load);
    if (!have_lanes(places, ends)) continue;
    if (auto paths = find_paths(places, ends)) return paths;
  }
  return std::nullopt;
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
  if (lanes.gpus < 2) return true;
  const std::vector<FlowEdge> edges = lane_flow(lanes);
  std::vector<bool> is_reached(at(lanes.gpus) + lanes.ports.size());
  is_reached[0] = true;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const FlowEdge& edge : edges) {
      if (!is_reached[edge.from] || is_reached[edge.to]) continue;
      is_reached[edge.to] = has_grown = true;
    }
  }
  return std::all_of(is_reached.begin(), is_reached.begin() + lanes.gpus, std::identity{});
}

}  // namespace trainyard
