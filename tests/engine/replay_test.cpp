#include "engine/child.hpp"
#include "engine/flat_network.hpp"

#include <algorithm>
#include <cstring>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <utility>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

Timeline closed(const TaskGraph& graph) {
  return run(graph, {.fidelity = Fidelity::closed, .recorded = {Rank{0}}});
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Two ranks that reduce 4 GB in 4 s, with a fifth of the multiprocessors and a quarter of the memory
/// bandwidth, during a kernel of 10 s. `first`, `second`: the dates when they join.
TaskGraph beside_ring(GpuUse kernel, Seconds overhead, Seconds first, Seconds second) {
  TaskGraph graph = one_ring(2, Bytes{4e9}, Bandwidth{1e9}, Seconds{});
  for (const Seconds joins : {first, second}) {
    Program& program = graph.programs.emplace_back();
    program.streams[0] = {Compute{.duration = Seconds{10}, .use = kernel, .overhead = overhead}};
    program.streams[1] = {Compute{joins}, Join{0, {.sms = 0.2, .memory = 0.25}}};
  }
  graph.program_of_rank = {1, 2};
  return graph;
}

/// The ends of the kernels of both ranks, in every fidelity.
void check_kernels(const TaskGraph& graph, double first, double second) {
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {Rank{1}}});
    CHECK(timeline.ranks[0].compute.si() == doctest::Approx(first).epsilon(1e-9));
    CHECK(timeline.ranks[1].compute.si() == doctest::Approx(second).epsilon(1e-9));
    CHECK(timeline.spans[0].end.si() == doctest::Approx(second).epsilon(1e-9));
  }
}

}  // namespace

TEST_CASE("streams run side by side and meet at events") {
  Program program;
  program.events = 1;
  program.streams[0] = {Compute{Seconds{1}, 0}, Record{0}, Compute{Seconds{5}, 1}};
  program.streams[1] = {Wait{0}, Compute{Seconds{2}, 2}};
  const Timeline timeline = closed(graph_of(1, program, {}));
  REQUIRE(timeline.spans.size() == 3);
  CHECK(timeline.spans[2].stream == Stream::communication);
  CHECK(timeline.spans[2].start == Seconds{1});
  CHECK(timeline.spans[2].end == Seconds{3});
  CHECK(timeline.makespan == Seconds{6});
  CHECK(timeline.ranks[0].compute == Seconds{6});
  CHECK(timeline.ranks[0].communication == Seconds{2});  // a copy on the communication stream
}

TEST_CASE("an event that has already happened holds nobody up") {
  Program program;
  program.events = 1;
  program.streams[0] = {Record{0}};
  program.streams[1] = {Compute{Seconds{2}, 0}, Wait{0}, Compute{Seconds{1}, 1}};
  CHECK(closed(graph_of(1, program, {})).makespan == Seconds{3});
}

TEST_CASE("a collective starts when its last rank arrives, and waiting is not communication") {
  TaskGraph graph = one_ring(2, Bytes{1e9}, Bandwidth{1e9}, Seconds{});
  Program late = graph.programs[0];
  late.streams[0].insert(late.streams[0].begin(), Compute{Seconds{3}, 0});
  graph.programs.push_back(late);
  graph.program_of_rank = {0, 1};
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::messages}) {
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    CHECK(timeline.collectives[0].first_arrival == Seconds{});
    CHECK(timeline.collectives[0].start == Seconds{3});
    CHECK(timeline.collectives[0].end.si() == doctest::Approx(4).epsilon(1e-9));
    CHECK(timeline.ranks[0].communication.si() == doctest::Approx(1).epsilon(1e-9));
    CHECK(timeline.ranks[0].compute == Seconds{});
    CHECK(timeline.ranks[1].compute == Seconds{3});
  }
}

TEST_CASE("a kernel is slower while a collective takes what it needs, and no longer") {
  // From 2 to 6 s: if limited by multiprocessors it advances by 4 x 0.8 s, by memory by 4 x 0.75.
  check_kernels(beside_ring({1, 0.5}, {}, Seconds{2}, Seconds{2}), 10.8, 10.8);
  check_kernels(beside_ring({0.1, 1}, {}, Seconds{2}, Seconds{2}), 11, 11);
  // Three quarters of the memory are enough for a kernel that needs no more.
  check_kernels(beside_ring({0.8, 0.75}, {}, Seconds{2}, Seconds{2}), 10, 10);
  // Half of it is the software's: 4 / (0.5 + 0.5 / 0.8).
  check_kernels(beside_ring({1, 0}, Seconds{5}, Seconds{2}, Seconds{2}), 14 - 4 / 1.125, 14 - 4 / 1.125);
}

TEST_CASE("who waits for a late rank holds its multiprocessors, but leaves the memory alone") {
  // Rank 0 from 0 to 7 s, rank 1 from 3 on; the data moves from 3 to 7.
  check_kernels(beside_ring({1, 0}, {}, Seconds{}, Seconds{3}), 10 + 7 * 0.2, 10 + 4 * 0.2);
  check_kernels(beside_ring({0, 1}, {}, Seconds{}, Seconds{3}), 11, 11);
}

TEST_CASE("two kernels that need all of the memory share it, and neither work is lost") {
  const auto ends = [](GpuUse compute, GpuUse copy) {
    Program program;
    program.streams[0] = {Compute{.duration = Seconds{4}, .use = compute}};
    program.streams[1] = {Compute{.duration = Seconds{1}, .use = copy}};
    const Timeline timeline = closed(graph_of(1, program, {}));
    return std::pair{timeline.ranks[0].compute.si(), timeline.ranks[0].communication.si()};
  };
  CHECK(ends({0, 1}, {0, 1}) == std::pair{5.0, 2.0});
  const auto [product, copy] = ends({1, 0.3}, {0, 1});
  CHECK(product == 4);
  CHECK(copy == doctest::Approx(1 / 0.7).epsilon(1e-12));
  CHECK(ends({1, 0}, {}) == std::pair{4.0, 1.0});
}

TEST_CASE("a persistent kernel waits while a collective holds multiprocessors") {
  const GpuUse use{.sms = 1, .memory = 0.5, .persistent = true};
  SUBCASE("one that begins meanwhile begins at its end") {
    TaskGraph graph = beside_ring(use, Seconds{}, Seconds{1}, Seconds{1});  // from 1 s to 5 s
    for (const int program : {1, 2}) {
      auto& compute = graph.programs[at(program)].streams[0];
      compute.insert(compute.begin(), Compute{.duration = Seconds{2}});
    }
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
      const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {Rank{1}}});
      CHECK(timeline.collectives[0].end.si() == doctest::Approx(5).epsilon(1e-9));
      CHECK(timeline.makespan.si() == doctest::Approx(15).epsilon(1e-9));
      CHECK(timeline.ranks[0].compute.si() == doctest::Approx(2 + 13).epsilon(1e-9));  // 3 s of waiting
    }
  }
  SUBCASE("one that runs already makes the collective wait") {
    TaskGraph graph = beside_ring(use, Seconds{}, Seconds{1}, Seconds{1});
    const Timeline timeline = closed(graph);
    CHECK(timeline.collectives[0].start == Seconds{10});
    CHECK(timeline.makespan.si() == doctest::Approx(14));
  }
  SUBCASE("and the next such kernel waits for the collective, which came first") {
    TaskGraph graph = beside_ring(use, Seconds{}, Seconds{1}, Seconds{1});
    for (const int program : {1, 2}) {
      auto& compute = graph.programs[at(program)].streams[0];
      compute.push_back(compute.front());
    }
    const Timeline timeline = closed(graph);
    CHECK(timeline.collectives[0].start == Seconds{10});
    CHECK(timeline.makespan.si() == doctest::Approx(24));
  }
  SUBCASE("multiprocessors are held by ranks that wait for others too") {
    TaskGraph graph = beside_ring(use, Seconds{}, Seconds{1}, Seconds{6});  // from 6 s to 10 s
    auto& compute = graph.programs[1].streams[0];
    compute.insert(compute.begin(), Compute{.duration = Seconds{2}});
    graph.programs[2].streams[0] = {Compute{.duration = Seconds{1}}};
    const Timeline timeline = closed(graph);
    CHECK(timeline.ranks[0].end.si() == doctest::Approx(20));
  }
  SUBCASE("memory traffic alone does not hold it up") {
    TaskGraph graph = beside_ring(use, Seconds{}, Seconds{1}, Seconds{1});
    for (const int program : {1, 2}) {
      auto& streams = graph.programs[at(program)].streams;
      streams[0].insert(streams[0].begin(), Compute{.duration = Seconds{2}});
      streams[1][1] = Join{0, {.sms = 0, .memory = 0.25}};
    }
    CHECK(closed(graph).makespan.si() == doctest::Approx(12));
  }
}

TEST_CASE("overlap costs something, and never more than doing one after the other") {
  CHECK(rc::check("in any program", [] {
    const auto share = [] { return *rc::gen::inRange(0, 101) / 100.0; };
    TaskGraph graph = one_ring(2, Bytes{1e9}, Bandwidth{1e9}, Seconds{});
    Program program;
    double computing = 0;
    for (int kernels = *rc::gen::inRange(1, 6); kernels > 0; --kernels) {
      const double duration = *rc::gen::inRange(0, 20) / 10.0;
      program.streams[0].emplace_back(Compute{
          .duration = Seconds{duration}, .use = {share(), share()}, .overhead = Seconds{duration / 3}});
      computing += duration;
    }
    program.streams[1] = {Compute{.duration = Seconds{0.5}, .use = {0, share()}}, Join{0, {share(), share()}},
                          Compute{.duration = Seconds{0.25}, .use = {0, share()}}};
    graph.programs = {program};
    const double end = closed(graph).makespan.si();
    RC_ASSERT(end >= std::max(computing, 1.75) * (1 - 1e-12));
    RC_ASSERT(end <= (computing + 1.75) * (1 + 1e-12));
  }));
}

namespace {

std::vector<RankSpan> listed(const RankSpans& ranks) {
  std::vector<RankSpan> all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) all.push_back(ranks[rank]);
  return all;
}

}  // namespace

TEST_CASE("folding identical ranks changes no bit") {
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds}) {
    TaskGraph graph = two_rings(16, Bytes{25e6}, Bandwidth{12.5e9}, Seconds{5e-6});
    // Kernels that slow each other down, and are slowed by the second ring.
    const GpuUse ring{.sms = 0.15, .memory = 0.4};
    graph.programs[0].streams[0].emplace_back(
        Compute{.duration = Seconds{0.01 / 3}, .op = 1, .use = {0.6, 1}, .overhead = Seconds{1e-5}});
    graph.programs[0].streams[1] = {Compute{.duration = Seconds{1e-3}, .op = 0, .use = {0, 1}}, Join{1, ring},
                                    Compute{.duration = Seconds{0.01 / 7}, .op = 2, .use = {0, 1}}};
    // Two kinds of ranks, so that folding has to distinguish them.
    Program slow = graph.programs[0];
    slow.streams[0].insert(slow.streams[0].begin(), Compute{Seconds{0.1 / 3}, 0});
    graph.programs.push_back(slow);
    for (std::size_t rank = 0; rank < 16; rank += 3) graph.program_of_rank[rank] = 1;
    const std::vector<Rank> recorded = {Rank{0}, Rank{1}, Rank{7}};
    const Timeline folded = run_in_child(graph, {.fidelity = fidelity, .fold = true, .recorded = recorded});
    const Timeline whole = run_in_child(graph, {.fidelity = fidelity, .fold = false, .recorded = recorded});
    CHECK(folded.makespan == whole.makespan);
    CHECK(same_bits(listed(folded.ranks), listed(whole.ranks)));
    CHECK(same_bits(folded.collectives, whole.collectives));
    REQUIRE(folded.spans.size() == whole.spans.size());
    for (std::size_t i = 0; i < folded.spans.size(); ++i) {
      CHECK(folded.spans[i].rank == whole.spans[i].rank);
      CHECK(folded.spans[i].start == whole.spans[i].start);
      CHECK(folded.spans[i].end == whole.spans[i].end);
    }
    CHECK(same_bits(folded.link_bytes.listed(), whole.link_bytes.listed()));
    CHECK(folded.events < whole.events);
  }
}

TEST_CASE("links carry the same bytes in every fidelity") {
  const TaskGraph graph = two_rings(8, Bytes{25e6}, Bandwidth{12.5e9}, Seconds{5e-6});
  const Timeline formula = closed(graph);
  // Each host sends 2(n-1)/n of both buffers.
  CHECK(formula.link_bytes[0] == doctest::Approx(1.6 * 25e6 * 14 / 8).epsilon(1e-12));
  for (const Fidelity fidelity : {Fidelity::flow, Fidelity::messages}) {
    const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
    for (std::size_t link = 0; link < formula.link_bytes.size(); ++link) {
      CHECK(timeline.link_bytes[link] == doctest::Approx(formula.link_bytes[link]).epsilon(1e-9));
    }
  }
}

TEST_CASE("a deadlock names who waits for what") {
  TaskGraph graph = one_ring(2, Bytes{1e6}, Bandwidth{1e9}, Seconds{});
  graph.programs.push_back(Program{});
  graph.program_of_rank = {0, 1};
  try {
    closed(graph);
    FAIL("no deadlock found");
  } catch (const EngineError& error) {
    const std::string message = error.what();
    CHECK(message.find("\n  rank 0, compute stream, task 0: ") != std::string::npos);
    CHECK(message.find("collective 0 (1 of 2 ranks") != std::string::npos);
    CHECK(message.find("rank 1,") == std::string::npos);
  }
}

TEST_CASE("more bandwidth and less latency are never slower") {
  double before = 1e9;
  for (const double bandwidth : {1e9, 2e9, 8e9, 64e9}) {
    const Timeline timeline = run_in_child(two_rings(8, Bytes{25e6}, Bandwidth{bandwidth}, Seconds{5e-6}),
                                           {.fidelity = Fidelity::flow, .recorded = {}});
    CHECK(timeline.makespan.si() < before);
    before = timeline.makespan.si();
  }
  for (const double latency : {4e-6, 2e-6, 0.0}) {
    const Timeline timeline = run_in_child(two_rings(8, Bytes{25e6}, Bandwidth{64e9}, Seconds{latency}),
                                           {.fidelity = Fidelity::flow, .recorded = {}});
    CHECK(timeline.makespan.si() < before);
    before = timeline.makespan.si();
  }
}
