#include "config/diagnostic.hpp"
#include "engine/child.hpp"
#include "engine/flat_network.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr Bandwidth wire{10e9};
constexpr Fidelity with_simgrid[] = {Fidelity::flow, Fidelity::rounds, Fidelity::messages};

Collective message(int pattern, int participants, double bytes,
                   Bandwidth limit = Bandwidth{std::numeric_limits<double>::infinity()}) {
  return {.operation = Operation::send_recv,
          .size = Bytes{bytes},
          .participants = participants,
          .overhead = {},
          .phases = {{.pattern = pattern,
                      .messages = 1,
                      .hops = 0,
                      .latency = {},
                      .bytes = Bytes{bytes},
                      .limit = limit}}};
}

/// Ranks 0 and 1 send 10 GB from host 0 to host 1. Rank 2 repeats traffic of `bytes` on the same way, at most
/// at rate `limit`.
TaskGraph with_background(double bytes, double limit) {
  TaskGraph graph = graph_of(3, Program{}, flat_links(2, wire));
  graph.programs = {Program{}, Program{}};
  graph.programs[0].streams[0] = {Join{0}};
  graph.programs[1].streams[0] = {Join{1}};
  graph.program_of_rank = {0, 0, 1};
  graph.job_of_rank = {0, 0, 1};
  Pattern job;
  add_flat_edge(job, 0, 1);
  Pattern traffic;
  const LinkId way[] = {LinkId{0}, LinkId{3}};
  traffic.add_edge({Rank{2}, Rank{2}}, way);
  graph.patterns = {job, traffic};
  graph.collectives = {message(0, 2, 10e9), message(1, 1, bytes, Bandwidth{limit})};
  return graph;
}

}  // namespace

TEST_CASE("background traffic takes its part of a link until the job ends") {
  for (const Fidelity fidelity : with_simgrid) {
    const Timeline held = run_in_child(with_background(1e8, 2e9), {.fidelity = fidelity, .recorded = {}});
    CHECK(held.makespan.si() == doctest::Approx(10e9 / 8e9).epsilon(1e-9));
    // Flows under way at the end of the job count with the bytes delivered by then.
    CHECK(held.link_bytes[0] == doctest::Approx(10e9 + 1.25 * 2e9).epsilon(1e-9));
    const Timeline fair = run_in_child(with_background(3e8, 1e12), {.fidelity = fidelity, .recorded = {}});
    CHECK(fair.makespan.si() == doctest::Approx(2).epsilon(1e-9));
    CHECK(fair.link_bytes[0] == doctest::Approx(20e9).epsilon(1e-9));
    CHECK(fair.link_bytes[3] == doctest::Approx(20e9).epsilon(1e-9));
  }
}

TEST_CASE("a second job begins again when the last of its ranks has ended") {
  // Rank 2 computes 0.25 s and rank 3 computes 0.5 s before they use the link for 0.1 s: rounds of 0.6 s, in
  // which job 0 has half the link while both send.
  TaskGraph graph = with_background(5e8, 1e12);
  graph.programs.push_back(graph.programs[1]);
  graph.programs[1].streams[0].insert(graph.programs[1].streams[0].begin(), Compute{Seconds{0.25}});
  graph.programs[2].streams[0].insert(graph.programs[2].streams[0].begin(), Compute{Seconds{0.5}});
  graph.program_of_rank = {0, 0, 1, 2};
  graph.job_of_rank = {0, 0, 1, 1};
  graph.collectives[1].participants = 2;
  graph.patterns[1] = {};
  const LinkId way[] = {LinkId{0}, LinkId{3}};
  graph.patterns[1].add_edge({Rank{2}, Rank{3}}, way);
  for (const Fidelity fidelity : with_simgrid) {
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {Rank{2}, Rank{0}}});
    // 0.5 s alone, 0.1 s shared: 0.55 s of 1 s are done, and 0.45 s alone are left.
    CHECK(timeline.makespan.si() == doctest::Approx(1.05).epsilon(1e-9));
    CHECK(timeline.link_bytes[0] == doctest::Approx(10.5e9).epsilon(1e-9));
    // The timeline shows the first round of a repeating job.
    CHECK(timeline.collectives[1].first_arrival == Seconds{0.25});
    CHECK(timeline.collectives[1].start == Seconds{0.5});
    CHECK(timeline.collectives[1].end.si() == doctest::Approx(0.6).epsilon(1e-9));
    CHECK(timeline.ranks[2].compute == Seconds{0.25});
    CHECK(timeline.ranks[2].end.si() == doctest::Approx(0.6).epsilon(1e-9));
    REQUIRE(timeline.spans.size() == 3);
    CHECK(timeline.spans[0].rank == Rank{2});
    CHECK(timeline.spans[1].end.si() == doctest::Approx(0.6).epsilon(1e-9));
    CHECK(timeline.spans[2].end == timeline.makespan);
  }
}

TEST_CASE("in the closed form other jobs run beside the first and change nothing") {
  const TaskGraph graph = with_background(1e9, 2e9);
  const Timeline timeline = run(graph, {.fidelity = Fidelity::closed, .recorded = {}});
  CHECK(timeline.makespan == Seconds{1});
  // A round takes 0.5 s; the second ends with the job.
  CHECK(timeline.link_bytes[0] >= 11e9);
}

TEST_CASE("a job that repeats without taking any time is refused") {
  TaskGraph graph = with_background(1e9, 2e9);
  graph.programs[1].streams[0].clear();
  CHECK_THROWS_AS(run_in_child(graph, {.fidelity = Fidelity::flow, .recorded = {}}), InputError);
}

TEST_CASE("groups meet by themselves, folded or not") {
  // Two rings over four hosts each, one twice as long.
  TaskGraph graph = graph_of(8, Program{}, flat_links(8, wire));
  graph.programs = {Program{}, Program{}};
  graph.programs[0].streams[0] = {Join{0}};
  graph.programs[1].streams[0] = {Join{1}};
  graph.program_of_rank = {0, 0, 0, 0, 1, 1, 1, 1};
  graph.patterns = {flat_ring({0, 1, 2, 3}), flat_ring({4, 6, 5, 7})};
  graph.collectives = {ring_collective(0, 4, Bytes{1e9}, Seconds{1e-3}),
                       ring_collective(1, 4, Bytes{2e9}, Seconds{1e-3})};
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
    for (const bool fold : {true, false}) {
      const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .fold = fold, .recorded = {}});
      CHECK(timeline.ranks[3].end.si() == doctest::Approx(0.156).epsilon(1e-9));
      CHECK(timeline.ranks[7].end.si() == doctest::Approx(0.306).epsilon(1e-9));
      CHECK(timeline.makespan.si() == doctest::Approx(0.306).epsilon(1e-9));
      CHECK(timeline.link_bytes[0] == doctest::Approx(1.5e9).epsilon(1e-9));
      CHECK(timeline.link_bytes[8] == doctest::Approx(3e9).epsilon(1e-9));
    }
  }
}
