#include "engine/engine.hpp"

#include "engine/child.hpp"
#include "engine/flat_network.hpp"
#include "engine/macro_flows.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr Bytes size{25.0 * 1048576};
constexpr Bandwidth bandwidth{12.5e9};
constexpr Seconds latency{5e-6};

double duration(const Timeline& timeline, std::size_t collective) {
  const CollectiveSpan& span = timeline.collectives[collective];
  return (span.end - span.start).si();
}

/// One message from each host 2i to host 2i+1, all over one shared link, latencies as given.
TaskGraph messages(std::vector<double> latencies, Bytes bytes) {
  const int pairs = static_cast<int>(latencies.size());
  TaskGraph graph = graph_of(2 * pairs, Program{}, {bandwidth});
  // Stream 0 joins messages in turn; to run at once each needs a separate stream, and there are two.
  for (int i = 0; i < pairs; ++i) {
    Pattern pattern;
    const LinkId shared[] = {LinkId{0}};
    pattern.add_edge({Rank{2 * i}, Rank{2 * i + 1}}, shared);
    graph.patterns.push_back(pattern);
    graph.collectives.push_back({.operation = Operation::all_reduce,
                                 .size = bytes,
                                 .participants = 2 * pairs,
                                 .overhead = {},
                                 .phases = {{.pattern = i,
                                             .messages = 1,
                                             .hops = 0,
                                             .latency = Seconds{latencies[at(i)]},
                                             .bytes = bytes}}});
    graph.programs[0].streams[i] = {Join{i}};
  }
  return graph;
}

}  // namespace

TEST_CASE("a message alone takes latency plus bytes over bandwidth in every fidelity") {
  const double exact = 5e-6 + 1e6 / 12.5e9;
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
    const Timeline timeline =
        run_in_child(messages({5e-6}, Bytes{1e6}), {.fidelity = fidelity, .recorded = {}});
    CHECK(duration(timeline, 0) == doctest::Approx(exact).epsilon(1e-9));
  }
}

TEST_CASE("two messages on one link share half and half whatever their latencies") {
  const double bytes = 25e6;
  for (const Fidelity fidelity : {Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
    const Timeline timeline =
        run_in_child(messages({5e-6, 15e-6}, Bytes{bytes}), {.fidelity = fidelity, .recorded = {}});
    // The first has the link alone for 10 us, then both get half until it ends; then the second gets the
    // whole link.
    const double head_start = 10e-6 * 12.5e9;
    const double first = 15e-6 + (bytes - head_start) / 6.25e9;
    const double second = 5e-6 + 2 * bytes / 12.5e9;
    CHECK(duration(timeline, 0) == doctest::Approx(first).epsilon(1e-9));
    CHECK(duration(timeline, 1) == doctest::Approx(second).epsilon(1e-9));
  }
}

TEST_CASE("a ring all-reduce alone equals the textbook formula") {
  // 25 MiB, 12.5 GB/s, 5 us, in ms.
  const std::pair<int, double> expected[] = {
      {8, 3.740016}, {64, 4.758768}, {256, 6.72792}, {1024, 14.420208}};
  for (const auto& [hosts, milliseconds] : expected) {
    CAPTURE(hosts);
    const Seconds formula = flat_ring_time(hosts, size, bandwidth, latency);
    CHECK(formula.si() * 1e3 == doctest::Approx(milliseconds).epsilon(1e-9));
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds}) {
      const Timeline timeline =
          run_in_child(one_ring(hosts, size, bandwidth, latency), {.fidelity = fidelity, .recorded = {}});
      CHECK(duration(timeline, 0) == doctest::Approx(formula.si()).epsilon(1e-9));
    }
    if (hosts > 64) continue;
    const Timeline timeline = run_in_child(one_ring(hosts, size, bandwidth, latency),
                                           {.fidelity = Fidelity::messages, .recorded = {}});
    CHECK(duration(timeline, 0) == doctest::Approx(formula.si()).epsilon(1e-9));
  }
}

TEST_CASE("a chunked phase alone equals its formula in every fidelity, at the pace of its connections") {
  constexpr int ranks = 5;
  constexpr int chunks = 7;
  TaskGraph graph = graph_of(ranks, Program{}, flat_links(ranks, bandwidth));
  graph.programs[0].streams[0] = {Join{0}};
  const auto check = [&](const Pattern& pattern, int hops, Bandwidth limit) {
    CAPTURE(hops);
    graph.patterns = {pattern};
    graph.collectives = {chunked_collective(0, ranks, size, chunks, hops, latency, limit)};
    graph.collectives[0].overhead = Seconds{2e-6};
    const double formula = 2e-6 + hops * latency.si() + (chunks + hops - 1) * (size / chunks / limit).si();
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
      const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
      CHECK(duration(timeline, 0) == doctest::Approx(formula).epsilon(1e-9));
      // Each edge carries the whole buffer: from host 0 to 1, and in a tree to 2 as well.
      const double edges = pattern.edges.size() == ranks - 1 ? 1 : 2;
      CHECK(timeline.link_bytes[0] == doctest::Approx(edges * size.si()).epsilon(1e-9));
    }
  };
  check(flat_chain(hosts_in_order(ranks)), ranks - 1, Bandwidth{4e9});
  check(flat_chain(hosts_in_order(ranks)), ranks - 1, bandwidth);
  check(flat_tree(hosts_in_order(ranks)), flat_tree_hops(ranks), bandwidth / 3);
}

TEST_CASE("phases follow one another and the overhead counts once") {
  constexpr int ranks = 4;
  TaskGraph graph = one_ring(ranks, size, bandwidth, latency);
  graph.patterns.push_back(flat_chain(hosts_in_order(ranks)));
  Collective& both = graph.collectives[0];
  both.overhead = Seconds{7e-6};
  both.phases.push_back(chunked_collective(1, ranks, size, 16, ranks - 1, latency, bandwidth).phases[0]);
  const double formula = 7e-6 + flat_ring_time(ranks, size, bandwidth, latency).si() + 3 * latency.si() +
                         18 * (size / 16 / bandwidth).si();
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
    // In steps, the last rank of the chain is also the last of the ring: no rank is ahead.
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    CHECK(duration(timeline, 0) == doctest::Approx(formula).epsilon(1e-9));
    CHECK(timeline.link_bytes[0] == doctest::Approx(size.si() * 2.5).epsilon(1e-9));
  }
}

TEST_CASE("two contending rings by rounds and by flow agree with every message simulated") {
  for (const int hosts : {8, 64}) {
    CAPTURE(hosts);
    const TaskGraph graph = two_rings(hosts, size, bandwidth, latency);
    const Timeline steps = run_in_child(graph, {.fidelity = Fidelity::messages, .recorded = {}});
    const Timeline rounds = run_in_child(graph, {.fidelity = Fidelity::rounds, .recorded = {}});
    const Timeline flow = run_in_child(graph, {.fidelity = Fidelity::flow, .recorded = {}});
    for (const std::size_t ring : {0U, 1U}) {
      CHECK(duration(rounds, ring) == doctest::Approx(duration(steps, ring)).epsilon(1e-6));
      CHECK(duration(flow, ring) == doctest::Approx(duration(steps, ring)).epsilon(1e-2));
    }
    if (hosts == 64) {
      CHECK(duration(steps, 0) * 1e3 == doctest::Approx(6.908).epsilon(1e-4));
      CHECK(duration(steps, 1) * 1e3 == doctest::Approx(5.257).epsilon(1e-4));
    }
  }
}

TEST_CASE("flow simulates every round of rings that a step repeats beside others") {
  TaskGraph graph = two_rings(32, size, bandwidth, latency);
  graph.collectives[0].rounds = 2;
  graph.programs[0].streams[0] = {Join{0}, Compute{Seconds{1e-3}, 0}, Join{0}};
  CHECK(engine::may_disturb(graph));
  const Timeline rounds = run_in_child(graph, {.fidelity = Fidelity::rounds, .recorded = {}});
  const Timeline flow = run_in_child(graph, {.fidelity = Fidelity::flow, .recorded = {}});
  CHECK(flow.makespan.si() == doctest::Approx(rounds.makespan.si()).epsilon(1e-12));
  graph.programs[0].streams[1] = {};
  graph.collectives.pop_back();
  CHECK_FALSE(engine::may_disturb(graph));
}

TEST_CASE("ranks of a segment on two streams may disturb each other") {
  TaskGraph graph = two_rings(4, size, bandwidth, latency);
  graph.segments.push_back({.program = graph.programs[0]});
  graph.programs[0].streams[0] = {RunSegment{0}};
  graph.programs[0].streams[1] = {};
  CHECK(engine::may_disturb(graph));
}

TEST_CASE("a collective that sends nothing and stands for other groups ends after its overhead") {
  Program program;
  program.streams[0] = {Join{0}};
  TaskGraph graph = graph_of(4, program, flat_links(4, bandwidth));
  graph.collectives.push_back({.operation = Operation::all_reduce,
                               .size = Bytes{4},
                               .participants = 4,
                               .group_size = 2,
                               .groups = 1,
                               .overhead = Seconds{1e-5},
                               .phases = {}});
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    CHECK(timeline.makespan.si() == doctest::Approx(1e-5).epsilon(1e-12));
  }
}

TEST_CASE("a variant of a step needs fidelity closed and a time for every collective") {
  const TaskGraph graph = messages({5e-6, 15e-6}, Bytes{1e6});
  const std::vector<Seconds> times(graph.collectives.size(), Seconds{1e-3});
  const Timeline slow =
      run(graph, {.fidelity = Fidelity::closed, .variant = {.collectives = times}, .recorded = {}});
  CHECK(slow.makespan.si() >= 1e-3);
  CHECK(slow.link_bytes.empty());
  const std::vector<Seconds> too_many(times.size() + 1, Seconds{1e-3});
  CHECK_THROWS_AS(
      run(graph, {.fidelity = Fidelity::closed, .variant = {.collectives = too_many}, .recorded = {}}),
      EngineError);
  CHECK_THROWS_AS(run(graph, {.fidelity = Fidelity::flow, .variant = {.collectives = times}, .recorded = {}}),
                  EngineError);
}
