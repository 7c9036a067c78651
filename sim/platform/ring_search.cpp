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
// For all numbers of rings together: a node of hundreds of lanes would be searched for minutes.
constexpr long all_budget = 20'000'000;

/// Depth-first search for a list of tours, one after the other, on the lanes the earlier ones left. A tour
/// starts at `first`, visits every GPU once and ends at `last`; a ring ends where it starts. The choices are
/// in a list: hundreds of rings through hundreds of GPUs are too many calls for a stack.
class TourSearch {
public:
  TourSearch(const LaneGraph& lanes, std::span<const PathEnds> ends, bool are_rings, long step_budget)
      : step_budget_(step_budget),
        ends_(ends),
        are_rings_(are_rings),
        gpus_(at(lanes.gpus)),
        direct_(lanes.direct),
        out_(lanes.ports),
        in_(lanes.ports) {}

  bool run() {
    if (ends_.empty()) return true;
    if (!begin_tours()) return false;
    Hop next = first_choice();
    while (tours_.size() < ends_.size() || !is_complete()) {
      if (find(next)) {
        take_hop(next);
        if (is_complete()) begin_tours();
        next = first_choice();
      } else {
        if (gave_up() || !has_taken_back(next)) return false;
        ++next.through;
      }
    }
    return true;
  }

  [[nodiscard]] long steps() const { return steps_; }
  [[nodiscard]] bool gave_up() const { return steps_ > step_budget_; }
  [[nodiscard]] std::vector<GpuOrder> orders() const {
    std::vector<GpuOrder> orders;
    for (const Tour& tour : tours_) orders.push_back(tour.order);
    return orders;
  }

private:
  /// One hop of a tour: the next GPU, and the switch used (-1: none). Ordered as tried.
  struct Hop {
    int gpu;
    int through;
    friend auto operator<=>(const Hop&, const Hop&) = default;
  };
  struct Tour {
    GpuOrder order;
    std::vector<Hop> hops;
    std::vector<char> visited;  ///< by GPU
    std::size_t tied = 0;       ///< the first hops that are those of the tour before
  };

  [[nodiscard]] const PathEnds& ends() const { return ends_[tours_.size() - 1]; }
  [[nodiscard]] bool is_closing() const { return tours_.back().order.size() == gpus_; }
  [[nodiscard]] bool is_complete() const {
    return tours_.back().hops.size() == (are_rings_ ? gpus_ : gpus_ - 1);
  }

  /// Begins the next tour, and those after it that need no hop. False if one cannot end where it should.
  bool begin_tours() {
    while (tours_.size() < ends_.size()) {
      const PathEnds& next = ends_[tours_.size()];
      Tour& tour = tours_.emplace_back();
      tour.order = {next.first};
      tour.visited.assign(gpus_, 0);
      tour.visited[at(next.first)] = 1;
      if (!is_complete()) return true;
      if (next.first != next.last) return false;
    }
    return true;
  }

  [[nodiscard]] Hop first_choice() const { return {is_closing() ? ends().first : 0, -1}; }

  /// The first possible hop from `next` on.
  bool find(Hop& next) {
    const Tour& tour = tours_.back();
    const int end = is_closing() ? next.gpu + 1 : static_cast<int>(gpus_);
    const bool is_last = !are_rings_ && tour.order.size() + 1 == gpus_;
    for (; next.gpu < end; ++next.gpu, next.through = -1) {
      if (!is_closing() && tour.visited[at(next.gpu)] != 0) continue;
      if (!are_rings_ && (next.gpu == ends().last) != is_last) continue;
      for (; next.through < static_cast<int>(out_.size()); ++next.through) {
        if (++steps_ > step_budget_) return false;
        if (is_in_order(next) && has_lane(tour.order.back(), next)) return true;
      }
    }
    return false;
  }

  /// A permutation of a set of rings is the same set, so only sorted ones are tried.
  [[nodiscard]] bool is_in_order(Hop next) const {
    const std::size_t hops = tours_.back().hops.size();
    if (!are_rings_ || tours_.size() == 1 || tours_.back().tied < hops) return true;
    return next >= tours_[tours_.size() - 2].hops[hops];
  }

  [[nodiscard]] bool has_lane(int from, Hop hop) const {
    if (hop.through < 0) return direct_[at(from)][at(hop.gpu)] > 0;
    return out_[at(hop.through)][at(from)] > 0 && in_[at(hop.through)][at(hop.gpu)] > 0;
  }

  /// Takes a lane, or gives it back if `lanes` is 1.
  void add_lane(int from, Hop hop, int lanes) {
    if (hop.through < 0) {
      direct_[at(from)][at(hop.gpu)] += lanes;
      return;
    }
    out_[at(hop.through)][at(from)] += lanes;
    in_[at(hop.through)][at(hop.gpu)] += lanes;
  }

  void take_hop(Hop hop) {
    Tour& tour = tours_.back();
    add_lane(tour.order.back(), hop, -1);
    const std::size_t hops = tour.hops.size();
    if (tours_.size() > 1 && tour.tied == hops && tours_[tours_.size() - 2].hops[hops] == hop) ++tour.tied;
    tour.hops.push_back(hop);
    if (is_closing()) return;
    tour.order.push_back(hop.gpu);
    tour.visited[at(hop.gpu)] = 1;
  }

  /// Takes the last hop back, of the tour before if this one has none; false if there is none at all.
  bool has_taken_back(Hop& hop) {
    while (tours_.back().hops.empty()) {
      tours_.pop_back();
      if (tours_.empty()) return false;
    }
    Tour& tour = tours_.back();
    hop = tour.hops.back();
    tour.hops.pop_back();
    tour.tied = std::min(tour.tied, tour.hops.size());
    if (tour.order.size() > tour.hops.size() + 1) {
      tour.order.pop_back();
      tour.visited[at(hop.gpu)] = 0;
    }
    add_lane(tour.order.back(), hop, 1);
    return true;
  }

  long step_budget_;
  std::span<const PathEnds> ends_;
  bool are_rings_;
  std::size_t gpus_;
  std::vector<std::vector<int>> direct_;  // remaining lanes from one GPU to another
  std::vector<std::vector<int>> out_;     // remaining lanes from a GPU into a switch
  std::vector<std::vector<int>> in_;      // remaining lanes from a switch to a GPU
  std::vector<Tour> tours_;
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

/// The lanes with the GPUs in another order.
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
  for (int count = most_rings(lanes); count > 0; count = result.steps > all_budget ? count / 2 : count - 1) {
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

std::optional<std::vector<GpuOrder>> least_loaded_paths(const LaneGraph& lanes,
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
