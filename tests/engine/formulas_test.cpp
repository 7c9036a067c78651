// Fidelity flow takes closed forms where collectives have their links to themselves, and the network
// elsewhere.

#include "engine/child.hpp"
#include "engine/contention_cases.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr EngineOptions by_flow{.fidelity = Fidelity::flow, .recorded = {}};

/// All dates and bytes of two timelines, equal to `tolerance`.
void check_same(const Timeline& one, const Timeline& other, double tolerance) {
  const auto same = [&](double first, double second) {
    CHECK(std::abs(first - second) <= tolerance * second);
  };
  same(one.makespan.si(), other.makespan.si());
  REQUIRE(one.collectives.size() == other.collectives.size());
  for (std::size_t c = 0; c < one.collectives.size(); ++c) {
    same(one.collectives[c].start.si(), other.collectives[c].start.si());
    same(one.collectives[c].end.si(), other.collectives[c].end.si());
  }
  for (std::size_t r = 0; r < one.ranks.size(); ++r) same(one.ranks[r].end.si(), other.ranks[r].end.si());
  REQUIRE(one.link_bytes.size() == other.link_bytes.size());
  for (std::size_t l = 0; l < one.link_bytes.size(); ++l) same(one.link_bytes[l], other.link_bytes[l]);
}

}  // namespace

TEST_CASE("collectives that share no link while they run take their closed forms in flow") {
  constexpr int hosts = 12;
  const std::vector<int> all = hosts_in_order(hosts);
  const std::vector<int> first(all.begin(), all.begin() + hosts / 2);
  const std::vector<int> second(all.begin() + hosts / 2, all.end());
  const Seconds later{1};
  const Bytes size = case_size;
  const auto spread = [](int host) { return Seconds{1e-4 * host}; };
  const TaskGraph cases[] = {
      CaseGraph(hosts).ring(all, size).graph(), CaseGraph(hosts).ring(all, size).late(spread).graph(),
      CaseGraph(hosts).tree(all, size).chain(all, size * 0.6, later).graph(),
      CaseGraph(hosts).ring(first, size).ring(second, size * 0.6).graph(),
      CaseGraph(hosts).ring(all, size).ring(hosts_by_sevens(hosts), size, later).graph()};
  for (const TaskGraph& graph : cases) {
    const Timeline by_formula = run_as_asked(graph, by_flow);
    const Timeline on_network = run_in_child(graph, by_flow);
    CHECK(by_formula.events < on_network.events);
    check_same(by_formula, on_network, 1e-9);
  }
}

TEST_CASE("collectives that share links while they run are simulated on the network") {
  for (const ContentionCase& one : contention_cases(8)) {
    CAPTURE(one.name);
    if (one.graph.link_events.empty() && one.graph.collectives.size() == 1) continue;
    check_same(run_as_asked(one.graph, by_flow), run_in_child(one.graph, by_flow), 0);
  }
}

TEST_CASE(
    "two collectives at the same time that share no more than their connections are simulated on the "
    "network") {
  constexpr int hosts = 4;
  const std::vector<int> all = hosts_in_order(hosts);
  TaskGraph graph = CaseGraph(hosts).chain(all, case_size).chain(all, case_size).graph();
  graph.collectives[1].phases.front().pattern = graph.collectives[0].phases.front().pattern;
  check_same(run_as_asked(graph, by_flow), run_in_child(graph, by_flow), 0);
}
