// A torus of two or three dimensions: one router per node, joined to both neighbours along every dimension,
// with wrap-around. All NICs of a node feed its router.

#include "platform/fabric_definition.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <span>

namespace trainyard {
namespace {

/// The router `by` places further (1 or -1) along one dimension.
int neighbour(int router, int size, int stride, int by) {
  const int place = router / stride % size;
  return router + ((place + by + size) % size - place) * stride;
}

/// One dimension of a torus.
struct TorusDimension {
  int size = 1;
  int stride = 1;                ///< between numbers of neighbouring routers
  std::uint32_t first_link = 0;  ///< of the links out of one router: upwards, then downwards
  std::uint32_t links = 0;       ///< out of one router: none, only upwards, or both

  [[nodiscard]] int place(int router) const { return router / stride % size; }
};

/// The steps from place `from` to place `to` along a dimension: the shorter way and, if both are equally
/// long, towards larger coordinates.
struct TorusSteps {
  TorusSteps(int size, int from, int to) {
    const int ahead = (to - from + size) % size;
    is_upwards = 2 * ahead <= size;
    count = is_upwards ? ahead : size - ahead;
  }
  int count = 0;
  bool is_upwards = true;
};

/// Counts a route as one stretch of links in each dimension: a difference where it begins and one where it
/// ends.
class TorusCounter final : public RouteCounter {
public:
  TorusCounter(std::span<const TorusDimension> dimensions, std::uint32_t routers, std::uint32_t per_router,
               Seconds latency, Seconds hop_latency)
      : dimensions_(dimensions),
        routers_(routers),
        per_router_(per_router),
        latency_(latency),
        hop_latency_(hop_latency),
        changes_(per_router, std::vector<int>(routers, 0)) {}

  std::optional<Seconds> add(Port from, Port to) override {
    int router = from.node;
    int hops = 0;
    for (const TorusDimension& along : dimensions_) {
      const int place = along.place(router);
      const int end = along.place(to.node);
      const TorusSteps steps(along.size, place, end);
      if (steps.count == 0) continue;
      // a step downwards is counted at the router where it begins, so that these begin after the end
      const int first = steps.is_upwards ? place : end + 1;
      add_stretch(along, router - place * along.stride, first % along.size, steps);
      router += (end - place) * along.stride;
      hops += steps.count;
    }
    return latency_ + hop_latency_ * hops;
  }

  [[nodiscard]] std::vector<int> counts() const override {
    std::vector<int> counts(static_cast<std::size_t>(routers_) * per_router_, 0);
    for (const TorusDimension& along : dimensions_) {
      for (std::uint32_t port = along.first_link; port < along.first_link + along.links; ++port) {
        for (std::uint32_t router = 0; router < routers_; ++router) {
          const bool is_first = along.place(static_cast<int>(router)) == 0;
          const int before = is_first ? 0 : counts[at_port(router - unsigned_of(along.stride), port)];
          counts[at_port(router, port)] = before + changes_[port][router];
        }
      }
    }
    return counts;
  }

private:
  [[nodiscard]] std::size_t at_port(std::uint32_t router, std::uint32_t port) const {
    return static_cast<std::size_t>(router) * per_router_ + port;
  }

  /// `line`: the router at place 0.
  void add_stretch(const TorusDimension& along, int line, int first, TorusSteps steps) {
    std::vector<int>& changes = changes_[along.first_link + (steps.is_upwards ? 0U : 1U)];
    const auto at_place = [&](int place) -> int& { return changes[at(line + place * along.stride)]; };
    const int end = first + steps.count;
    ++at_place(first);
    if (end < along.size) --at_place(end);
    if (end <= along.size) return;
    ++at_place(0);  // around the end of the line
    --at_place(end - along.size);
  }

  std::span<const TorusDimension> dimensions_;
  std::uint32_t routers_;
  std::uint32_t per_router_;
  Seconds latency_;
  Seconds hop_latency_;
  std::vector<std::vector<int>> changes_;  ///< by port of a router, then by router: from its predecessor
};

/// Messages over the links of a line upwards: `senders[a]` at place a send one to each of `receivers[b]` at
/// place b whose distance upwards is at most `reach`. The link from x carries those from places x - j, for j
/// from 0, to the places beyond x that they reach.
std::vector<std::int64_t> counts_on_line(std::span<const std::int64_t> senders,
                                         std::span<const std::int64_t> receivers, int reach) {
  const auto size = static_cast<std::ptrdiff_t>(senders.size());
  std::vector<std::int64_t> up_to(at(3 * static_cast<int>(size)));  // receivers, going round and round
  std::inclusive_scan(receivers.begin(), receivers.end(), up_to.begin());
  const std::int64_t round = up_to[at(static_cast<int>(size) - 1)];
  for (std::ptrdiff_t i = size; i < 3 * size; ++i)
    up_to[at(static_cast<int>(i))] = up_to[at(static_cast<int>(i - size))] + round;
  const auto received = [&](std::ptrdiff_t i) { return up_to[at(static_cast<int>(i))]; };
  std::vector<std::int64_t> counts;
  std::int64_t sent = 0;     // of the senders whose messages may cross the link
  std::int64_t reached = 0;  // receivers up to the end of each of their reaches, together
  const auto add = [&](std::ptrdiff_t i, int sign) {
    const std::int64_t here = sign * senders[at(static_cast<int>(i % size))];
    sent += here;
    reached += here * received(i + reach);
  };
  for (std::ptrdiff_t i = size - reach; i < size; ++i) add(i, 1);
  for (std::ptrdiff_t x = size; x < 2 * size; ++x) {
    add(x, 1);
    add(x - reach, -1);
    counts.push_back(reached - sent * received(x));
  }
  return counts;
}

/// By place of a line, the largest sum of a value at another place and the distance to it, on the shorter
/// way.
std::vector<int> farthest_on_line(std::span<const int> values) {
  const auto size = static_cast<int>(values.size());
  std::vector<int> farthest(values.begin(), values.end());
  for (const bool is_mirrored : {false, true}) {
    const auto place = [&](int i) { return at(is_mirrored ? size - 1 - i % size : i % size); };
    std::deque<int> best;  // places up to half a line back, each better than all after it
    for (int i = 0; i < 2 * size; ++i) {
      while (!best.empty() && values[place(best.back())] - best.back() <= values[place(i)] - i)
        best.pop_back();
      best.push_back(i);
      if (best.front() < i - size / 2) best.pop_front();
      int& here = farthest[place(i)];
      if (i >= size) here = std::max(here, values[place(best.front())] + i - best.front());
    }
  }
  return farthest;
}

/// A route goes along x first, then y, then z, each in the shorter direction and, if both
/// are equally long, towards larger coordinates. So the opposite route may have different links, but as many.
/// If a dimension has only two routers, one link joins them, not two.
class Torus final : public FabricNetwork {
public:
  Torus(const Fabric& fabric, int /*nodes*/, int /*nics*/)
      : FabricNetwork(fabric), rates_(link_rates(fabric, fabric.torus.link)) {
    for (const int size : fabric.torus.dimensions) {
      const std::uint32_t out = size == 1 ? 0 : size == 2 ? 1 : 2;
      dimensions_.push_back(
          {.size = size, .stride = static_cast<int>(routers_), .first_link = per_router_, .links = out});
      routers_ *= unsigned_of(size);
      per_router_ += out;
    }
  }
  [[nodiscard]] std::uint32_t links() const override { return routers_ * per_router_; }
  [[nodiscard]] LinkRates rates(std::uint32_t /*link*/) const override { return rates_; }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const int router = static_cast<int>(link / per_router_);
    const std::uint32_t port = link % per_router_;
    for (const Dimension& along : dimensions_) {
      if (port < along.first_link || port >= along.first_link + along.links) continue;
      const int by = port == along.first_link ? 1 : -1;
      return router_name(router) + "->" + router_name(neighbour(router, along.size, along.stride, by));
    }
    return {};
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    int router = from.node;
    int hops = 0;
    for (const Dimension& along : dimensions_) {
      int place = along.place(router);
      const TorusSteps steps(along.size, place, along.place(to.node));
      const int last = steps.is_upwards ? along.size - 1 : 0;  // where the next step wraps around
      const int by = steps.is_upwards ? 1 : -1;
      const std::uint32_t port = along.first_link + (steps.is_upwards ? 0U : 1U);
      for (int step = 0; step < steps.count; ++step) {
        links.push_back(LinkId{first + unsigned_of(router) * per_router_ + port});
        const int next = place == last ? along.size - 1 - last : place + by;
        router += (next - place) * along.stride;
        place = next;
      }
      hops += steps.count;
    }
    return latency(hops);
  }
  [[nodiscard]] std::unique_ptr<RouteCounter> route_counter() const override {
    return std::make_unique<TorusCounter>(dimensions_, routers_, per_router_, latency(0), latency_of_hop());
  }
  /// A message that moves along a dimension has its receiver's coordinates in the dimensions before, and its
  /// sender's in those after it.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> all_to_all_counts(
      std::span<const std::int64_t> ranks) const override {
    std::vector<std::int64_t> counts(links(), 0);
    for (const Dimension& along : dimensions_) {
      const std::size_t stride = at(along.stride);
      const std::size_t size = at(along.size);
      std::vector<std::int64_t> senders(routers_ / stride, 0);  // by place and the coordinates after
      std::vector<std::int64_t> receivers(stride * size, 0);    // by place and the coordinates before
      for (std::size_t router = 0; router < ranks.size(); ++router) {
        senders[router / stride] += ranks[router];
        receivers[router % (stride * size)] += ranks[router];
      }
      std::vector<std::int64_t> to(size);
      for (std::size_t line = 0; line < routers_ / size; ++line) {
        const std::size_t before = line % stride;
        const std::size_t first = line / stride * stride * size + before;  // its router at place 0
        for (std::size_t place = 0; place < size; ++place) to[place] = receivers[place * stride + before];
        const auto from = std::span(senders).subspan(line / stride * size, size);
        const auto add = [&](std::span<const std::int64_t> of_line, std::uint32_t port) {
          for (std::size_t place = 0; place < size; ++place)
            counts[(first + place * stride) * per_router_ + port] = of_line[place];
        };
        if (along.links > 0) add(counts_on_line(from, to, along.size / 2), along.first_link);
        if (along.links < 2) continue;
        const std::vector<std::int64_t> mirrored(from.rbegin(), from.rend());
        std::ranges::reverse(to);
        std::vector<std::int64_t> down = counts_on_line(mirrored, to, (along.size - 1) / 2);
        std::ranges::reverse(down);
        add(down, along.first_link + 1);
      }
    }
    return counts;
  }
  [[nodiscard]] std::vector<Seconds> longest_routes(const std::vector<bool>& from) const override {
    constexpr int none = -(1 << 28);
    std::vector<int> hops(routers_, none);
    for (std::size_t router = 0; router < from.size(); ++router) {
      if (from[router]) hops[router] = 0;
    }
    for (const Dimension& along : dimensions_) {
      std::vector<int> values(at(along.size));
      for (std::uint32_t router = 0; router < routers_; ++router) {
        if (along.place(static_cast<int>(router)) > 0) continue;
        const auto at_place = [&](std::size_t place) -> int& {
          return hops[router + place * at(along.stride)];
        };
        for (std::size_t place = 0; place < values.size(); ++place) values[place] = at_place(place);
        const std::vector<int> farthest = farthest_on_line(values);
        for (std::size_t place = 0; place < values.size(); ++place) at_place(place) = farthest[place];
      }
    }
    std::vector<Seconds> longest;
    for (const int count : std::span(hops).first(from.size())) longest.push_back(latency(std::max(0, count)));
    return longest;
  }
  [[nodiscard]] std::uint32_t links_of_switch() const override { return std::max(1U, per_router_); }

  [[nodiscard]] int first_switch(Port port) const override { return port.node; }
  /// In the middle of each dimension and, if it wraps around, at its ends.
  [[nodiscard]] std::vector<NarrowCut> narrow_cuts() const override {
    std::vector<NarrowCut> cuts;
    for (const Dimension& along : dimensions_) {
      const double links = static_cast<double>(routers_) / along.size * (along.size > 2 ? 2 : 1);
      cuts.push_back({[along](int node) { return node / along.stride % along.size < along.size / 2 ? 0 : 1; },
                      rates_.specified * links});
    }
    return cuts;
  }
  [[nodiscard]] LinkKeys link_keys() const override { return {"torus", {{"link", rates_.specified}}}; }

private:
  using Dimension = TorusDimension;

  [[nodiscard]] std::string router_name(int router) const {
    std::string name = "router";
    for (const Dimension& along : dimensions_) {
      if (&along != dimensions_.data()) name += '.';
      name += std::to_string(router / along.stride % along.size);
    }
    return name;
  }

  std::vector<Dimension> dimensions_;
  std::uint32_t routers_ = 1;
  std::uint32_t per_router_ = 0;
  LinkRates rates_;
};

void read_torus(const FabricFile& file, int /*nics*/, Fabric& fabric, config::Problems& problems) {
  fabric.torus.dimensions = file.dimensions;
  take(fabric.torus.link, file.link);
  if (!problems.readable("fabric.dimensions") || file.dimensions.empty()) return;
  const std::size_t wanted = file.kind == FabricKind::torus2d ? 2 : 3;
  if (file.dimensions.size() != wanted) {
    problems.error("fabric.dimensions",
                   fmt::format("a {} has {} dimensions, not {}", config::name_of(file.kind), wanted,
                               file.dimensions.size()),
                   wanted == 2 ? "dimensions: [8, 8]" : "dimensions: [4, 4, 4]");
    return;
  }
  double routers = 1;
  for (const int size : file.dimensions) routers *= size;
  if (routers > config::most_nodes) {
    problems.error("fabric.dimensions", fmt::format("the torus has {} routers", routers),
                   fmt::format("{} at most", config::most_nodes));
    return;
  }
  fabric.places = static_cast<int>(routers);
}

std::string torus_lines(const Fabric& fabric, Footnotes& notes) {
  std::string text =
      fmt::format("  {} routers, one per node, with links of ", fmt::join(fabric.torus.dimensions, " x "));
  return text + figure(fabric.torus.link, notes) + '\n';
}

/// Draws one plane near router 0, as a grid.
void draw_torus(const Fabric& fabric, FabricDrawing& drawing) {
  const std::vector<int>& sizes = fabric.torus.dimensions;
  const int columns = std::min(sizes[0], 4);
  const int rows = std::min(sizes[1], 4);
  const auto name = [](int x, int y) { return fmt::format("router{}_{}", x, y); };
  const auto label = [&](int x, int y) {
    return sizes.size() == 3 ? fmt::format("{}.{}.0", x, y) : fmt::format("{}.{}", x, y);
  };
  for (int y = 0; y < rows; ++y) {
    std::string row = "  {rank=same;";
    for (int x = 0; x < columns; ++x) {
      drawing.box(name(x, y), label(x, y));
      row += " " + name(x, y) + ";";
    }
    const std::string edge = fmt::format("edge{}", y);
    drawing.rest(edge, columns < sizes[0] ? "..." : columns > 2 ? "around" : "");
    drawing.text += fmt::format("{} {};}}\n", row, edge);
    for (int x = 0; x + 1 < columns; ++x) drawing.line(name(x, y), name(x + 1, y));
    drawing.line(name(columns - 1, y), edge);
    for (int x = 0; y > 0 && x < columns; ++x) drawing.line(name(x, y - 1), name(x, y));
  }
  for (int x = 0; x < columns; ++x) {
    const std::string edge = fmt::format("below{}", x);
    drawing.rest(edge, rows < sizes[1] ? "..." : rows > 2 ? "around" : "");
    drawing.line(name(x, rows - 1), edge);
  }
  if (sizes.size() == 3 && sizes[2] > 1) {
    drawing.rest("planes", fmt::format("{} planes", sizes[2]));
    drawing.line(name(columns - 1, 0), "planes");
  }
  drawing.enter(name(0, 0));
}

}  // namespace

FabricDefinition torus() {
  return {.keys = {{"dimensions", "dimensions: [8, 8] for torus2d, [4, 4, 4] for torus3d"},
                   {"link", "link: 100 Gbps"},
                   {"hop_latency", "hop_latency: 0.1 us"}},
          .read = read_torus,
          .network = network_of<Torus>,
          .lines = torus_lines,
          .draw = draw_torus};
}

}  // namespace trainyard
