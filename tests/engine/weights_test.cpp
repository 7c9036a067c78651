// Patterns that use a link many times, and patterns without edges.
#include "config/diagnostic.hpp"
#include "engine/child.hpp"
#include "engine/flat_network.hpp"
#include "engine/links_as_one.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr Bandwidth nic_rate{12.5e9};

/// Every host sends one message to every other at once; `summed`: without edges.
Pattern everyone(int hosts, bool summed) {
  Pattern pattern;
  if (summed) {
    for (int link = 0; link < 2 * hosts; ++link)
      pattern.uses.push_back({LinkId{static_cast<std::uint32_t>(link)}, hosts - 1});
    pattern.summed_edges = std::int64_t{hosts} * (hosts - 1);
    return pattern;
  }
  for (int from = 0; from < hosts; ++from) {
    for (int to = 0; to < hosts; ++to) {
      if (to != from) add_flat_edge(pattern, from, to);
    }
  }
  return pattern;
}

TaskGraph exchange_and_ring(int hosts, bool summed) {
  TaskGraph graph = one_ring(hosts, Bytes{25e6}, nic_rate, Seconds{5e-6});
  graph.programs[0].streams[1] = {Compute{Seconds{1e-4}}, Join{1}};
  graph.patterns.push_back(everyone(hosts, summed));
  graph.collectives.push_back({.operation = Operation::all_to_all,
                               .size = Bytes{25e6},
                               .participants = hosts,
                               .overhead = {},
                               .phases = {{.pattern = 1,
                                           .messages = 1,
                                           .hops = 0,
                                           .latency = Seconds{5e-6},
                                           .bytes = Bytes{25e6} / hosts}}});
  return graph;
}

}  // namespace

TEST_CASE("every edge of a pattern counts as a flow, whatever else shares its links") {
  constexpr int hosts = 8;
  const Timeline steps =
      run_in_child(exchange_and_ring(hosts, false), {.fidelity = Fidelity::messages, .recorded = {}});
  for (const bool summed : {false, true}) {
    const Timeline rounds =
        run_in_child(exchange_and_ring(hosts, summed), {.fidelity = Fidelity::rounds, .recorded = {}});
    for (const std::size_t c : {0U, 1U})
      CHECK(rounds.collectives[c].end.si() == doctest::Approx(steps.collectives[c].end.si()).epsilon(1e-9));
    CHECK(rounds.link_bytes[5] == doctest::Approx(steps.link_bytes[5]).epsilon(1e-9));
  }
}

TEST_CASE("steps refuses messages that nobody has listed") {
  const TaskGraph graph = exchange_and_ring(64, true);
  try {
    run_in_child(graph, {.fidelity = Fidelity::messages, .recorded = {}});
    FAIL("they were simulated");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().front().message.find(" 12096 messages ") != std::string::npos);
  }
}

TEST_CASE("links are merged where every pattern uses them alike, with the smallest weights") {
  TaskGraph graph = exchange_and_ring(8, true);
  std::vector<std::span<const LinkUse>> uses;
  std::vector<std::vector<LinkUse>> owned;
  for (const Pattern& pattern : graph.patterns) owned.push_back(link_uses(pattern));
  for (const std::vector<LinkUse>& of_pattern : owned) uses.emplace_back(of_pattern);
  const engine::LinksAsOne merged = engine::links_as_one(graph, uses);
  REQUIRE(merged.links.size() == 1);
  CHECK(merged.links[0] == nic_rate);
  CHECK(merged.units == std::vector<double>{1, 7});
  CHECK(merged.routes == std::vector<std::vector<int>>{{0}, {0}});

  // A link with another capacity or with events is not merged, and 2 : 3 needs whole weights.
  std::vector<Bandwidth> links = graph.links.listed();
  links[3] = nic_rate * 2;
  graph.link_events = {{Seconds{1}, LinkId{5}, nic_rate, ""}, {Seconds{1}, LinkId{40}, nic_rate, ""}};
  links.resize(41, nic_rate);
  graph.links = std::move(links);
  owned[1][7].times = 21;
  owned[0][7].times = 2;
  const engine::LinksAsOne apart = engine::links_as_one(graph, uses);
  REQUIRE(apart.links.size() == 4);
  CHECK(apart.of_event == std::vector<int>{2, -1});
  CHECK(apart.scales[3] == 1);
  CHECK(apart.routes[0] == std::vector<int>{0, 1, 2, 3, 3});
  CHECK(apart.routes[1] == std::vector<int>{0, 1, 2, 3, 3, 3});
}
