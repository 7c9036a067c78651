#include "engine/engine.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

Collective lasting(Seconds time, int participants, int rounds = 1) {
  return {.operation = Operation::all_reduce,
          .size = Bytes(1),
          .participants = participants,
          .group_size = participants,
          .rounds = rounds,
          .overhead = time,
          .phases = {}};
}

Compute kernel(double seconds, int op = 0) {
  return {.duration = Seconds{seconds}, .op = op, .use = {1, 0.5}};
}

/// Two kernels with a collective between them, the second one beside another collective.
Program segment_program(double first, double second, int blocking, int beside) {
  Program program;
  program.of(Stream::compute) = {kernel(first, 0), Join{blocking}, Record{0}, kernel(second, 1), Wait{1}};
  program.of(Stream::layers) = {Wait{0}, Join{beside, {.sms = 0.3, .memory = 0.4}}, Record{1}};
  program.events = 2;
  return program;
}

/// Two stages that repeat a segment and exchange a message after every run of it.
TaskGraph two_stages(double first, double second, double message, int micro_batches) {
  TaskGraph graph;
  graph.program_of_rank = {0, 0, 1, 1};
  for (int stage = 0; stage < 2; ++stage) {
    const auto number = static_cast<int>(graph.collectives.size());
    graph.collectives.push_back(lasting(Seconds{0.5}, 2, micro_batches));
    graph.collectives.push_back(lasting(Seconds{1.5}, 2, micro_batches));
    graph.segments.push_back({.program = segment_program(first, second * (1 + stage), number, number + 1),
                              .is_undisturbed = true});
  }
  const auto messages = static_cast<int>(graph.collectives.size());
  graph.collectives.push_back(lasting(Seconds{message}, 4, micro_batches));
  for (int stage = 0; stage < 2; ++stage) {
    Program& program = graph.programs.emplace_back();
    for (int i = 0; i < micro_batches; ++i) {
      if (stage == 1) program.of(Stream::compute).emplace_back(Join{messages});
      program.of(Stream::compute).emplace_back(RunSegment{stage});
      if (stage == 0) program.of(Stream::compute).emplace_back(Join{messages});
    }
  }
  return graph;
}

Timeline closed_run(const TaskGraph& graph, bool fold) {
  return run(graph, {.fidelity = Fidelity::closed, .fold = fold, .recorded = {Rank{0}, Rank{2}}});
}

}  // namespace

TEST_CASE("an undisturbed segment replayed once gives what its tasks give one by one") {
  CHECK(rc::check([] {
    const auto seconds = [] { return *rc::gen::inRange(0, 1000) / 100.0; };
    const TaskGraph graph = two_stages(seconds(), seconds(), seconds(), *rc::gen::inRange(1, 6));
    const Timeline once = closed_run(graph, true);
    const Timeline all = closed_run(graph, false);
    const auto equal = [](Seconds a, Seconds b) { return std::abs((a - b).si()) < 1e-9; };
    RC_ASSERT(equal(once.makespan, all.makespan));
    RC_ASSERT(once.spans.size() == all.spans.size());
    for (std::size_t i = 0; i < once.spans.size(); ++i) {
      RC_ASSERT(once.spans[i].task == all.spans[i].task);
      RC_ASSERT(equal(once.spans[i].start, all.spans[i].start));
      RC_ASSERT(equal(once.spans[i].end, all.spans[i].end));
      RC_ASSERT(equal(once.spans[i].busy, all.spans[i].busy));
    }
    for (std::size_t rank = 0; rank < 4; ++rank) {
      RC_ASSERT(equal(once.ranks[rank].compute, all.ranks[rank].compute));
      RC_ASSERT(equal(once.ranks[rank].communication, all.ranks[rank].communication));
    }
    for (std::size_t i = 0; i < once.collectives.size(); ++i) {
      RC_ASSERT(equal(once.collectives[i].start, all.collectives[i].start));
      RC_ASSERT(equal(once.collectives[i].end, all.collectives[i].end));
    }
  }));
}

TEST_CASE("kernels of a segment run slower beside its collectives, and this is no exposed communication") {
  const Timeline timeline = closed_run(two_stages(2, 1, 0, 1), true);
  // 1 s of work beside a collective that takes 40 % of the bandwidth and 30 % of the multiprocessors
  const double slowed = 1 / 0.7;
  CHECK(timeline.spans[0].busy.si() == doctest::Approx(2 + slowed).epsilon(1e-12));
  CHECK((timeline.spans[0].end - timeline.spans[0].start).si() == doctest::Approx(2 + 0.5 + 1.5));
}

TEST_CASE("a collective that a step repeats takes as long as collectives of their own") {
  CHECK(rc::check([] {
    const int rounds = *rc::gen::inRange(1, 6);
    TaskGraph repeated;
    TaskGraph single;
    for (TaskGraph* graph : {&repeated, &single}) {
      graph->program_of_rank = {0, 1};
      graph->programs.resize(2);
    }
    repeated.collectives = {lasting(Seconds{1}, 2, rounds)};
    for (int i = 0; i < rounds; ++i) {
      single.collectives.push_back(lasting(Seconds{1}, 2));
      for (std::size_t rank = 0; rank < 2; ++rank) {
        const Compute work = kernel(*rc::gen::inRange(0, 4));
        repeated.programs[rank]
            .of(Stream::compute)
            .insert(repeated.programs[rank].of(Stream::compute).end(), {work, Join{0}});
        single.programs[rank]
            .of(Stream::compute)
            .insert(single.programs[rank].of(Stream::compute).end(), {work, Join{i}});
      }
    }
    for (const bool fold : {true, false}) {
      const EngineOptions options{.fidelity = Fidelity::closed, .fold = fold, .recorded = {}};
      RC_ASSERT(run(repeated, options).makespan == run(single, options).makespan);
    }
  }));
}
