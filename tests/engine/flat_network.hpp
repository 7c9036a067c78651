#pragma once
// Hosts on one non-blocking switch, one full-duplex link each: the network of the closed forms.

#include "collectives/ring.hpp"
#include "schedule/task_graph.hpp"

#include <vector>

namespace trainyard::testing {

/// Link 2i carries what host i sends, 2i+1 what it receives.
inline std::vector<Bandwidth> flat_links(int hosts, Bandwidth bandwidth) {
  return std::vector<Bandwidth>(static_cast<std::size_t>(2 * hosts), bandwidth);
}

/// A ring in which position p is held by host order(p).
template <class Order>
Pattern flat_ring(int hosts, Order order) {
  Pattern pattern;
  for (int p = 0; p < hosts; ++p) {
    const int from = order(p);
    const int to = order((p + 1) % hosts);
    const LinkId route[] = {LinkId{static_cast<std::uint32_t>(2 * from)},
                            LinkId{static_cast<std::uint32_t>(2 * to + 1)}};
    pattern.add_edge({Rank{from}, Rank{to}, (p + hosts - 1) % hosts}, route);
  }
  return pattern;
}

inline TaskGraph graph_of(int ranks, Program program, std::vector<Bandwidth> links) {
  TaskGraph graph;
  graph.programs = {std::move(program)};
  graph.program_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  graph.links = std::move(links);
  return graph;
}

/// One ring all-reduce of `size` on `hosts` hosts at date 0.
inline TaskGraph one_ring(int hosts, Bytes size, Bandwidth bandwidth, Seconds latency) {
  Program program;
  program.streams[0] = {Join{0}};
  TaskGraph graph = graph_of(hosts, program, flat_links(hosts, bandwidth));
  graph.patterns = {flat_ring(hosts, [](int p) { return p; })};
  graph.collectives = {ring_all_reduce(size, hosts, 1, 0, Seconds{}, latency)};
  return graph;
}

/// Two rings at once: the second in the order 7p+3 over the same hosts, with 0.6 of the bytes, 1 ms later.
inline TaskGraph two_rings(int hosts, Bytes size, Bandwidth bandwidth, Seconds latency) {
  TaskGraph graph = one_ring(hosts, size, bandwidth, latency);
  graph.programs[0].streams[1] = {Compute{Seconds{1e-3}, 0}, Join{1}};
  graph.patterns.push_back(flat_ring(hosts, [hosts](int p) { return (7 * p + 3) % hosts; }));
  graph.collectives.push_back(ring_all_reduce(size * 0.6, hosts, 1, 1, Seconds{}, latency));
  return graph;
}

}  // namespace trainyard::testing
