#include "collectives/torus2d.hpp"

#include "collectives/requirements.hpp"
#include "collectives/ring.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// Number of ranks on each node; 0 if nodes differ.
int ranks_per_node(const Cluster& cluster, std::span<const Rank> group) {
  if (fills_alike_nodes(cluster, group)) return cluster.gpus_on_node.front();
  const std::vector<NodeShare> shares = node_shares(cluster, group);
  const std::size_t first = shares.front().ranks.size();
  const bool are_equal =
      std::ranges::all_of(shares, [&](const NodeShare& share) { return share.ranks.size() == first; });
  return are_equal ? static_cast<int>(first) : 0;
}

std::optional<TorusGrid> grid_of_fabric(const Cluster& cluster, std::size_t nodes, int per_node) {
  const std::vector<int>& routers = cluster.platform.fabric.torus.dimensions;
  if (routers.size() != 2 || per_node == 0) return std::nullopt;
  const int x = routers[0];
  const int y = routers[1];
  if (nodes != at(x) * at(y) || x * per_node < 2 || y < 2) return std::nullopt;
  return TorusGrid{x * per_node, y};
}

/// Rings in both directions through lines of `length` ranks: rank k of line l is number k * step + first(l).
template <class First>
void add_lines(PatternMaker& maker, std::span<const Rank> group, int lines, int length, int step,
               First first) {
  maker.reserve(2 * group.size());
  std::vector<Rank> order(at(length));
  for (int line = 0; line < lines; ++line) {
    for (int k = 0; k < length; ++k) order[at(k)] = group[at(k * step + first(line))];
    add_ring(maker, order);
    std::reverse(order.begin(), order.end());
    add_ring(maker, order);
  }
}

/// Counts these edges.
template <class First>
void count_lines(EdgeCounter& edges, RingCounter& rings, std::span<const Rank> group, int lines, int length,
                 int step, First first) {
  std::vector<Rank> order(at(length));
  for (int line = 0; line < lines; ++line) {
    for (int k = 0; k < length; ++k) order[at(k)] = group[at(k * step + first(line))];
    count_ring(edges, rings, order);
    std::reverse(order.begin(), order.end());
    count_ring(edges, rings, order);
  }
}

CollectivePlan counted_torus2d(const Cluster& cluster, const ProtocolOverheads& overheads,
                               const CollectiveRequest& request, TorusGrid grid) {
  CollectivePlan plan = new_plan(overheads, request, Algorithm::torus2d);
  const auto [columns, rows] = grid;
  const auto add_rows = [&, columns = columns, rows = rows] {
    EdgeCounter edges(cluster, overheads, request.protocol);
    RingCounter rings(edges);
    count_lines(edges, rings, request.group, rows, columns, 1, [&](int row) { return row * columns; });
    add_rounds(plan, edges, columns - 1, 0.5 / columns, rings.largest_mean());
    add_sums(plan, overheads, reduces(plan.operation) ? 2 : 0);
  };
  const auto add_columns = [&, columns = columns, rows = rows] {
    EdgeCounter edges(cluster, overheads, request.protocol);
    RingCounter rings(edges);
    count_lines(edges, rings, request.group, columns, rows, columns, [](int column) { return column; });
    add_rounds(plan, edges, ring_rounds(request.operation, rows), 0.5 / (static_cast<double>(columns) * rows),
               rings.largest_mean());
    add_sums(plan, overheads, 2 * summed_part(plan.operation));
  };
  add_levels(plan, add_rows, add_columns);
  add_sources(plan, cluster, overheads, request, torus2d);
  return plan;
}

}  // namespace

std::optional<TorusGrid> torus_grid(const Cluster& cluster, std::span<const Rank> group) {
  const auto ranks = static_cast<int>(group.size());
  if (ranks < 4) return std::nullopt;
  const int per_node = ranks_per_node(cluster, group);
  if (const auto grid = grid_of_fabric(cluster, node_count(cluster, group), per_node)) return grid;
  std::optional<TorusGrid> squarest;
  std::optional<TorusGrid> squarest_of_nodes;
  for (int side = 2; side * side <= ranks; ++side) {
    if (ranks % side != 0) continue;
    // the longer side is the row, unless only the shorter one holds whole nodes
    for (const int columns : {side, ranks / side}) {
      const TorusGrid grid{columns, ranks / columns};
      squarest = grid;
      if (per_node > 0 && columns % per_node == 0) squarest_of_nodes = grid;
    }
  }
  return squarest_of_nodes ? squarest_of_nodes : squarest;
}

CollectivePlan torus2d(const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request) {
  require(cluster, request, Algorithm::torus2d);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::torus2d);
  const std::optional<TorusGrid> found = request.grid ? request.grid : torus_grid(cluster, request.group);
  if (!found) return plan;
  if (can_count(cluster, request)) return counted_torus2d(cluster, overheads, request, *found);
  const auto [columns, rows] = *found;
  PatternMaker along_rows(cluster, overheads, request);
  add_lines(along_rows, request.group, rows, columns, 1, [&](int row) { return row * columns; });
  PatternMaker along_columns(cluster, overheads, request);
  add_lines(along_columns, request.group, columns, rows, columns, [](int column) { return column; });

  const auto add_rows = [&] {
    add_rounds(plan, along_rows, columns - 1, 0.5 / columns, ring_latency(along_rows, columns));
    add_sums(plan, overheads, reduces(plan.operation) ? 2 : 0);
  };
  const auto add_columns = [&] {
    add_rounds(plan, along_columns, ring_rounds(request.operation, rows),
               0.5 / (static_cast<double>(columns) * rows), ring_latency(along_columns, rows));
    add_sums(plan, overheads, 2 * summed_part(plan.operation));
  };
  add_levels(plan, add_rows, add_columns);
  return plan;
}

}  // namespace trainyard
