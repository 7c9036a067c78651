#include "config/diagnostic.hpp"
#include "engine/child.hpp"
#include "engine/flat_network.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr Bandwidth port{10e9};
constexpr Fidelity on_a_network[] = {Fidelity::flow, Fidelity::rounds, Fidelity::messages};

/// 10 GB from host 0 to host 1 at date 0: one second.
TaskGraph one_message() {
  TaskGraph graph = graph_of(2, Program{}, flat_links(2, port));
  graph.programs[0].streams[0] = {Join{0}};
  Pattern pattern;
  add_flat_edge(pattern, 0, 1);
  graph.patterns = {pattern};
  graph.collectives = {
      {.operation = Operation::send_recv,
       .size = Bytes{10e9},
       .participants = 2,
       .overhead = {},
       .phases = {{.pattern = 0, .messages = 1, .hops = 0, .latency = {}, .bytes = Bytes{10e9}}}}};
  return graph;
}

LinkEvent at_date(double date, int link, double rate) {
  return {Seconds{date}, LinkId{static_cast<std::uint32_t>(link)}, Bandwidth{rate}, "host0->switch"};
}

}  // namespace

TEST_CASE("a link that gets slower, fails, and comes back holds up what crosses it") {
  for (const Fidelity fidelity : on_a_network) {
    TaskGraph graph = one_message();
    // 5 GB until 0.5 s, 1 GB until 1 s, none until 3 s, 3 GB until 3.15 s at twice the first rate, when the
    // receiver's link limits.
    graph.link_events = {at_date(3, 0, 20e9), at_date(0.5, 0, 2e9), at_date(1, 0, 0)};
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    CHECK(timeline.makespan.si() == doctest::Approx(3 + 4e9 / 10e9).epsilon(1e-9));
    CHECK(timeline.link_bytes[0] == doctest::Approx(10e9).epsilon(1e-9));
  }
}

TEST_CASE("a flow that starts while a link is down goes on at full speed when it is back") {
  for (const Fidelity fidelity : on_a_network) {
    TaskGraph graph = one_message();
    graph.programs[0].streams[0].insert(graph.programs[0].streams[0].begin(), Compute{Seconds{0.5}});
    graph.link_events = {at_date(0.25, 3, 0), at_date(2, 3, 10e9)};
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    CHECK(timeline.makespan.si() == doctest::Approx(3).epsilon(1e-9));
  }
}

TEST_CASE("links that nothing crosses, and events after the end, change nothing") {
  for (const Fidelity fidelity : on_a_network) {
    TaskGraph graph = one_message();
    graph.link_events = {at_date(0.5, 1, 0), at_date(7, 0, 0)};
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    CHECK(timeline.makespan.si() == doctest::Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("a job that a failed link keeps from ending is impossible, and the message says what waits") {
  for (const Fidelity fidelity : on_a_network) {
    TaskGraph graph = one_message();
    graph.collectives.front().label.name = "bucket 0";
    graph.link_events = {at_date(0.5, 0, 0)};
    try {
      run_in_child(graph, {.fidelity = fidelity, .fold = false, .recorded = {}});
      FAIL("the job ended");
    } catch (const JobImpossible& error) {
      const std::string message = error.what();
      CHECK(message.find("link host0->switch failed at 0.5 s") != std::string::npos);
      CHECK(message.find("bucket 0") != std::string::npos);
      for (const char* rank : {"rank 0", "rank 1"}) {
        CHECK(message.find(std::string("\n  ") + rank + ", compute stream, task 0: ") != std::string::npos);
      }
      CHECK(message.find("collective 0 (2 of 2 ranks") != std::string::npos);
    }
  }
}

TEST_CASE("a link that fails inside a ring holds it up as long as it is away") {
  for (const Fidelity fidelity : on_a_network) {
    TaskGraph graph = one_ring(8, Bytes{8e9}, port, Seconds{});
    const double alone = 1.4;
    graph.link_events = {at_date(0.5, 6, 0), at_date(1.75, 6, 10e9)};
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    // Messages end every 0.1 s: nothing is half sent at 0.5 s.
    CHECK(timeline.makespan.si() == doctest::Approx(alone + 1.25).epsilon(1e-9));
  }
}

TEST_CASE("the closed form refuses links that change, and links must exist") {
  TaskGraph graph = one_message();
  graph.link_events = {at_date(0.5, 0, 1e9)};
  CHECK_THROWS_AS(run(graph, {.fidelity = Fidelity::closed, .recorded = {}}), InputError);
  graph.link_events = {at_date(0.5, 77, 1e9)};
  CHECK_THROWS_AS(run_in_child(graph, {.fidelity = Fidelity::flow, .recorded = {}}), InputError);
  graph.link_events = {at_date(-1, 0, 1e9)};
  CHECK_THROWS_AS(run_in_child(graph, {.fidelity = Fidelity::flow, .recorded = {}}), InputError);
}
