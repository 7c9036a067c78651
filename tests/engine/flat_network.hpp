#pragma once
// Hosts on one non-blocking switch, one full-duplex link each: the network of the closed forms; with textbook
// collectives on it, made by hand: the engine's tests need no platform.

#include "schedule/task_graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace trainyard::testing {

/// Host i sends over link 2i and receives over link 2i+1.
inline std::vector<Bandwidth> flat_links(int hosts, Bandwidth bandwidth) {
  return std::vector<Bandwidth>(static_cast<std::size_t>(2 * hosts), bandwidth);
}

inline void add_flat_edge(Pattern& pattern, int from, int to,
                          const std::vector<std::int32_t>& passes_on = {}) {
  const LinkId route[] = {LinkId{static_cast<std::uint32_t>(2 * from)},
                          LinkId{static_cast<std::uint32_t>(2 * to + 1)}};
  pattern.add_edge({Rank{from}, Rank{to}}, route, passes_on);
}

/// 0, 1, 2 ... for `count` hosts.
inline std::vector<int> hosts_in_order(int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The order 7p+3, which shares each host's links but no connection with the natural one.
inline std::vector<int> hosts_by_sevens(int count) {
  std::vector<int> order;
  for (int p = 0; p < count; ++p) order.push_back((7 * p + 3) % count);
  return order;
}

/// Adds a ring over hosts in this order to the pattern.
inline void add_flat_ring(Pattern& pattern, const std::vector<int>& order) {
  const auto n = static_cast<int>(order.size());
  const auto first = static_cast<int>(pattern.edges.size());
  for (int p = 0; p < n; ++p)
    add_flat_edge(pattern, order[at(p)], order[at((p + 1) % n)], {first + (p + n - 1) % n});
}

inline Pattern flat_ring(const std::vector<int>& order) {
  Pattern pattern;
  add_flat_ring(pattern, order);
  return pattern;
}

/// From the first host of the order to the last.
inline Pattern flat_chain(const std::vector<int>& order) {
  Pattern pattern;
  for (int p = 0; p + 1 < static_cast<int>(order.size()); ++p) {
    add_flat_edge(pattern, order[at(p)], order[at(p + 1)],
                  p == 0 ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{p - 1});
  }
  return pattern;
}

/// Up a binary tree in heap order and down again: a broadcast after a reduction.
inline Pattern flat_tree(const std::vector<int>& order) {
  Pattern pattern;
  const auto n = static_cast<int>(order.size());
  const auto up = [](int child) { return child - 1; };             // the edge from a child to its parent
  const auto down = [n](int child) { return n - 1 + child - 1; };  // and back
  for (int child = 1; child < n; ++child) {
    std::vector<std::int32_t> below;
    for (int grandchild : {2 * child + 1, 2 * child + 2}) {
      if (grandchild < n) below.push_back(up(grandchild));
    }
    add_flat_edge(pattern, order[at(child)], order[at((child - 1) / 2)], below);
  }
  for (int child = 1; child < n; ++child) {
    const int parent = (child - 1) / 2;
    std::vector<std::int32_t> before;
    if (parent > 0) before.push_back(down(parent));
    for (int at_root = 1; parent == 0 && at_root <= std::min(2, n - 1); ++at_root)
      before.push_back(up(at_root));
    add_flat_edge(pattern, order[at(parent)], order[at(child)], before);
  }
  return pattern;
}

/// Edges on the longest path of flat_tree.
inline int flat_tree_hops(int hosts) {
  int levels = 0;
  for (int last = hosts - 1; last > 0; last = (last - 1) / 2) ++levels;
  return 2 * levels;
}

inline TaskGraph graph_of(int ranks, Program program, std::vector<Bandwidth> links) {
  TaskGraph graph;
  graph.programs = {std::move(program)};
  graph.program_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  graph.links = std::move(links);
  return graph;
}

/// An all-reduce of `size` in 2(n-1) rounds of 1/n each.
inline Collective ring_collective(int pattern, int hosts, Bytes size, Seconds latency) {
  return {.operation = Operation::all_reduce,
          .size = size,
          .participants = hosts,
          .overhead = {},
          .phases = {{.pattern = pattern,
                      .messages = 2 * (hosts - 1),
                      .hops = 0,
                      .latency = latency,
                      .bytes = size / hosts}}};
}

/// A collective that carries `size` over each edge of a pattern in chunks.
inline Collective chunked_collective(int pattern, int hosts, Bytes size, int chunks, int hops,
                                     Seconds latency, Bandwidth limit) {
  return {.operation = Operation::broadcast,
          .size = size,
          .participants = hosts,
          .overhead = {},
          .phases = {{.pattern = pattern,
                      .messages = chunks,
                      .hops = hops,
                      .latency = latency,
                      .bytes = size / chunks,
                      .limit = limit}}};
}

/// The textbook formula: 2(n-1)/n * size/bandwidth + 2(n-1) * latency (Patarasuk and Yuan 2009).
inline Seconds flat_ring_time(int hosts, Bytes size, Bandwidth bandwidth, Seconds latency) {
  return 2.0 * (hosts - 1) / hosts * (size / bandwidth) + 2.0 * (hosts - 1) * latency;
}

/// One ring all-reduce of `size` on `hosts` hosts at date 0.
inline TaskGraph one_ring(int hosts, Bytes size, Bandwidth bandwidth, Seconds latency) {
  Program program;
  program.streams[0] = {Join{0}};
  TaskGraph graph = graph_of(hosts, program, flat_links(hosts, bandwidth));
  graph.patterns = {flat_ring(hosts_in_order(hosts))};
  graph.collectives = {ring_collective(0, hosts, size, latency)};
  return graph;
}

/// Two rings at once: the second in the order 7p+3 over the same hosts, with 0.6 of the bytes, 1 ms later.
inline TaskGraph two_rings(int hosts, Bytes size, Bandwidth bandwidth, Seconds latency) {
  TaskGraph graph = one_ring(hosts, size, bandwidth, latency);
  graph.programs[0].streams[1] = {Compute{Seconds{1e-3}, 0}, Join{1}};
  graph.patterns.push_back(flat_ring(hosts_by_sevens(hosts)));
  graph.collectives.push_back(ring_collective(1, hosts, size * 0.6, latency));
  return graph;
}

}  // namespace trainyard::testing
