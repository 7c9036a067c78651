#pragma once
// Cases in which collectives disturb one another, ranks come late or links change, to compare the macro
// fidelities with `steps`. Used by the tests up to 64 hosts and by the bench beyond.

#include "collectives/plan.hpp"
#include "engine/flat_network.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace trainyard::testing {

inline constexpr Bandwidth case_bandwidth{12.5e9};
inline constexpr Seconds case_latency{5e-6};
inline constexpr Bytes case_size{25.0 * 1048576};

/// A graph of collectives over given hosts, each at its own date on a separate stream (at most three).
class CaseGraph {
public:
  explicit CaseGraph(int hosts) { graph_ = graph_of(hosts, Program{}, flat_links(hosts, case_bandwidth)); }

  CaseGraph& ring(const std::vector<int>& order, Bytes size, Seconds date = {}) {
    graph_.patterns.push_back(flat_ring(order));
    return add(order, ring_collective(next(), static_cast<int>(order.size()), size, case_latency), date);
  }

  /// Several rings that are channels of one collective, each with its part of the size.
  CaseGraph& channels(const std::vector<std::vector<int>>& orders, Bytes size, Seconds date = {}) {
    Pattern pattern;
    for (const std::vector<int>& order : orders) add_flat_ring(pattern, order);
    graph_.patterns.push_back(std::move(pattern));
    const auto hosts = static_cast<int>(orders.front().size());
    return add(orders.front(),
               ring_collective(next(), hosts, size / static_cast<double>(orders.size()), case_latency), date);
  }

  CaseGraph& chain(const std::vector<int>& order, Bytes size, Seconds date = {}) {
    graph_.patterns.push_back(flat_chain(order));
    const auto hosts = static_cast<int>(order.size());
    return add_chunked(order, size, hosts - 1, case_bandwidth, date);
  }

  CaseGraph& tree(const std::vector<int>& order, Bytes size, Seconds date = {}) {
    graph_.patterns.push_back(flat_tree(order));
    const auto hosts = static_cast<int>(order.size());
    // a rank inside the tree sends to its parent and to two children
    return add_chunked(order, size, flat_tree_hops(hosts), case_bandwidth / 3, date);
  }

  CaseGraph& link_event(Seconds date, int link, Bandwidth bandwidth) {
    graph_.link_events.push_back({date, LinkId{static_cast<std::uint32_t>(link)}, bandwidth, "link"});
    return *this;
  }

  /// Delays the first stream of host h.
  CaseGraph& late(const std::function<Seconds(int)>& by) {
    late_ = by;
    return *this;
  }

  /// The graph: each host has its own program, so that nothing is folded by accident.
  [[nodiscard]] TaskGraph graph() const {
    TaskGraph graph = graph_;
    graph.programs.assign(graph.program_of_rank.size(), Program{});
    for (std::size_t c = 0; c < members_.size(); ++c) {
      for (const int host : members_[c]) {
        std::vector<Task>& stream = graph.programs[at(host)].streams[c];
        const Seconds date = dates_[c] + (late_ && c == 0 ? late_(host) : Seconds{});
        if (date > Seconds{}) stream.emplace_back(Compute{.duration = date});
        stream.emplace_back(Join{static_cast<int>(c)});
      }
    }
    for (std::size_t host = 0; host < graph.program_of_rank.size(); ++host)
      graph.program_of_rank[host] = static_cast<int>(host);
    return graph;
  }

private:
  [[nodiscard]] int next() const { return static_cast<int>(graph_.patterns.size()) - 1; }

  CaseGraph& add_chunked(const std::vector<int>& order, Bytes size, int hops, Bandwidth limit, Seconds date) {
    return add(order,
               chunked_collective(next(), static_cast<int>(order.size()), size, chunk_count(size, hops), hops,
                                  case_latency, limit),
               date);
  }

  CaseGraph& add(const std::vector<int>& members, Collective collective, Seconds date) {
    graph_.collectives.push_back(std::move(collective));
    members_.push_back(members);
    dates_.push_back(date);
    return *this;
  }

  TaskGraph graph_;
  std::vector<std::vector<int>> members_;  ///< by collective
  std::vector<Seconds> dates_;
  std::function<Seconds(int)> late_;
};

/// A case and the allowed error of its collectives relative to `steps`.
struct ContentionCase {
  std::string_view name;
  TaskGraph graph;
  double off = 0;        ///< for flow and rounds, relative to a collective's duration, up to 256 hosts tested
  bool is_quick = true;  ///< steps takes less than a second or two on 256 hosts
};

inline std::vector<ContentionCase> contention_cases(int hosts) {
  const std::vector<int> all = hosts_in_order(hosts);
  const std::vector<int> sevens = hosts_by_sevens(hosts);
  const std::vector<int> backwards(all.rbegin(), all.rend());
  const std::vector<int> half(all.begin(), all.begin() + hosts / 2);
  const std::vector<int> middle(all.begin() + hosts / 4, all.begin() + 3 * hosts / 4);
  std::vector<int> thirds;
  for (int p = 0; p < hosts; ++p) thirds.push_back((3 * p + 1) % hosts);
  const Seconds ms{1e-3};
  const Bytes size = case_size;
  const auto spread = [hosts](int host) { return Seconds{1e-3 * ((host * 37) % hosts) / hosts}; };
  const auto on = [hosts] { return CaseGraph(hosts); };
  constexpr double exact = 1e-6;
  constexpr int link = 6;           // sending link of host 3
  constexpr bool too_slow = false;  // for 256 hosts
  return {
      {"two rings", on().ring(all, size).ring(sevens, size * 0.6, ms).graph(), exact, too_slow},
      {"three rings",
       on().ring(all, size).ring(sevens, size * 0.6, ms).ring(thirds, size * 0.3, ms * 1.5).graph(), exact,
       too_slow},
      {"a ring of two channels, and a ring",
       on().channels({all, sevens}, size).ring(thirds, size * 0.5, ms).graph(), exact, too_slow},
      {"a ring, and one over half the hosts", on().ring(all, size).ring(half, size * 0.6, ms).graph(), exact},
      {"rings over two halves that overlap", on().ring(half, size).ring(middle, size * 0.6, ms).graph(),
       exact},
      {"a ring, one host 1 ms late",
       on().ring(all, size).late([](int host) { return Seconds{host == 3 ? 1e-3 : 0}; }).graph(), exact},
      {"a ring, hosts up to 1 ms late", on().ring(all, size).late(spread).graph(), exact},
      {"a chain, hosts up to 1 ms late", on().chain(all, size).late(spread).graph(), 0.055},
      {"a tree, hosts up to 1 ms late", on().tree(all, size).late(spread).graph(), 0.01, too_slow},
      {"two chains", on().chain(all, size).chain(sevens, size * 0.6, ms).graph(), 0.01, too_slow},
      {"chains that run towards each other", on().chain(all, size).chain(backwards, size * 0.6, ms).graph(),
       0.01, too_slow},
      {"a chain and a ring", on().chain(all, size).ring(sevens, size * 0.6, ms).graph(), 0.01, too_slow},
      {"a tree and a ring", on().tree(all, size).ring(sevens, size * 0.6, ms).graph(), 0.01, too_slow},
      {"two trees", on().tree(all, size).tree(backwards, size * 0.6, ms).graph(), 0.01, too_slow},
      {"a ring, and a tree over half the hosts", on().ring(all, size).tree(half, size * 0.6, ms).graph(),
       0.015, too_slow},
      {"a ring, a link half as fast from 1 ms on",
       on().ring(all, size).link_event(ms, link, case_bandwidth / 2).graph(), exact},
      {"a ring, a link failed from 1 to 2 ms",
       on().ring(all, size).link_event(ms, link, {}).link_event(ms * 2, link, case_bandwidth).graph(), exact},
      {"a chain, a link half as fast from 1 ms on",
       on().chain(all, size).link_event(ms, link, case_bandwidth / 2).graph(), 0.015},
      {"a tree, a link a sixth as fast from 1 ms on",
       on().tree(all, size).link_event(ms, link, case_bandwidth / 6).graph(), 0.01},
  };
}

}  // namespace trainyard::testing
