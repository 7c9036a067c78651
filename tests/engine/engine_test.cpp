#include "engine/engine.hpp"

#include "collectives/chain.hpp"
#include "engine/child.hpp"
#include "engine/flat_network.hpp"

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
  // Stream 0 joins messages in turn; to run them at once each needs its own stream, and there are two.
  for (int i = 0; i < pairs; ++i) {
    Pattern pattern;
    const LinkId shared[] = {LinkId{0}};
    pattern.add_edge({Rank{2 * i}, Rank{2 * i + 1}, -1}, shared);
    graph.patterns.push_back(pattern);
    graph.collectives.push_back({.operation = Operation::all_reduce,
                                 .size = bytes,
                                 .overhead = Seconds{},
                                 .pattern = i,
                                 .rounds = 1,
                                 .latency = Seconds{latencies[static_cast<std::size_t>(i)]},
                                 .bytes = bytes});
    graph.programs[0].streams[i] = {Join{i}};
  }
  return graph;
}

}  // namespace

TEST_CASE("a message alone takes latency plus bytes over bandwidth in every fidelity") {
  const double exact = 5e-6 + 1e6 / 12.5e9;
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::steps}) {
    const Timeline timeline =
        run_in_child(messages({5e-6}, Bytes{1e6}), {.fidelity = fidelity, .recorded = {}});
    CHECK(duration(timeline, 0) == doctest::Approx(exact).epsilon(1e-9));
  }
}

TEST_CASE("two messages on one link share half and half whatever their latencies") {
  const double bytes = 25e6;
  for (const Fidelity fidelity : {Fidelity::flow, Fidelity::rounds, Fidelity::steps}) {
    const Timeline timeline =
        run_in_child(messages({5e-6, 15e-6}, Bytes{bytes}), {.fidelity = fidelity, .recorded = {}});
    // The first has the link to itself for 10 us, then both get half until it ends; the second keeps what is
    // left.
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
    const Seconds formula = ring_all_reduce_time(hosts, size, bandwidth, latency);
    CHECK(formula.si() * 1e3 == doctest::Approx(milliseconds).epsilon(1e-9));
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds}) {
      const Timeline timeline =
          run_in_child(one_ring(hosts, size, bandwidth, latency), {.fidelity = fidelity, .recorded = {}});
      CHECK(duration(timeline, 0) == doctest::Approx(formula.si()).epsilon(1e-9));
    }
    if (hosts > 64) continue;
    const Timeline timeline = run_in_child(one_ring(hosts, size, bandwidth, latency),
                                           {.fidelity = Fidelity::steps, .recorded = {}});
    CHECK(duration(timeline, 0) == doctest::Approx(formula.si()).epsilon(1e-9));
  }
}

TEST_CASE("a chain all-reduce alone equals its formula in every fidelity, at the rate of the lane it has") {
  constexpr int ranks = 5;
  TaskGraph graph = graph_of(ranks, Program{}, flat_links(ranks, bandwidth));
  graph.programs[0].streams[0] = {Join{0}};
  Pattern pattern;
  for (int hop = 0; hop < 2 * (ranks - 1); ++hop) {
    const bool is_back = hop >= ranks - 1;
    const int from = is_back ? 2 * (ranks - 1) - hop : hop;
    const int to = is_back ? from - 1 : from + 1;
    const LinkId route[] = {LinkId{static_cast<std::uint32_t>(2 * from + (is_back ? 1 : 0))}};
    pattern.add_edge({Rank{from}, Rank{to}, hop - 1}, route);
  }
  graph.collectives = {chain_all_reduce(size, ranks, 0, Seconds{2e-6}, latency)};
  for (const double lane : {4e9, 20e9}) {
    CAPTURE(lane);
    pattern.limit = Bandwidth{lane};
    graph.patterns = {pattern};
    const Seconds formula = chain_all_reduce_time(ranks, size, std::min(pattern.limit, bandwidth), latency);
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::steps}) {
      const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
      CHECK(duration(timeline, 0) == doctest::Approx(2e-6 + formula.si()).epsilon(1e-9));
      CHECK(timeline.link_bytes[0] == doctest::Approx(size.si()).epsilon(1e-9));
    }
  }
}

TEST_CASE("two contending rings by rounds and by flow agree with every message simulated") {
  for (const int hosts : {8, 64}) {
    CAPTURE(hosts);
    const TaskGraph graph = two_rings(hosts, size, bandwidth, latency);
    const Timeline steps = run_in_child(graph, {.fidelity = Fidelity::steps, .recorded = {}});
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
