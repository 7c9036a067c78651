// The longest path of a graph against its replay.

#include "engine/makespan.hpp"

#include "engine/engine.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

Collective lasting_for(double seconds, int participants, int rounds) {
  return {.operation = Operation::all_reduce,
          .size = Bytes(1),
          .participants = participants,
          .group_size = participants,
          .rounds = rounds,
          .overhead = Seconds{seconds},
          .phases = {}};
}

double some_seconds() { return *rc::gen::inRange(0, 1000) / 300.0; }

/// A kernel beside a collective of the same rank.
Segment overlapped(double first, double second, int blocking, int beside, bool is_undisturbed) {
  Segment segment{.program = {}, .is_undisturbed = is_undisturbed};
  segment.program.of(Stream::compute) = {Compute{.duration = Seconds{first}}, Join{blocking}, Record{0},
                                         Compute{.duration = Seconds{second}}, Wait{1}};
  segment.program.of(Stream::layers) = {Wait{0}, Join{beside, {.sms = 0.3, .memory = 0.4}}, Record{1}};
  segment.program.events = 2;
  return segment;
}

/// Stages that repeat a segment, send a message after each run of it while they go on, and end with a
/// collective of all.
TaskGraph some_stages() {
  const int stages = *rc::gen::inRange(1, 5);
  const int micro_batches = *rc::gen::inRange(1, 6);
  TaskGraph graph;
  for (int stage = 0; stage < stages; ++stage) {
    graph.program_of_rank.insert(graph.program_of_rank.end(), 2, stage);
    for (const int rounds : {micro_batches, micro_batches, micro_batches}) {
      const bool is_message = graph.collectives.size() % 3 == 2;
      graph.collectives.push_back(lasting_for(some_seconds(), is_message ? 4 : 2, rounds));
    }
    graph.segments.push_back(
        overlapped(some_seconds(), some_seconds(), 3 * stage, 3 * stage + 1, *rc::gen::arbitrary<bool>()));
  }
  const auto all = static_cast<int>(graph.collectives.size());
  graph.collectives.push_back(lasting_for(some_seconds(), 2 * stages, 1));
  for (int stage = 0; stage < stages; ++stage) {
    Program& program = graph.programs.emplace_back();
    const auto add = [&](Stream stream, const Task& task) { program.of(stream).push_back(task); };
    for (int i = 0; i < micro_batches; ++i) {
      if (stage > 0) {
        add(Stream::receive_forward, Join{3 * (stage - 1) + 2});
        add(Stream::receive_forward, Record{program.events});
        add(Stream::compute, Wait{program.events++});
      }
      add(Stream::compute, RunSegment{stage});
      if (stage + 1 == stages) continue;
      add(Stream::compute, Record{program.events});
      add(Stream::send_forward, Wait{program.events++});
      add(Stream::send_forward, Join{3 * stage + 2});
    }
    add(Stream::compute, Compute{.duration = Seconds{some_seconds()}});
    add(Stream::compute, Join{all});
  }
  return graph;
}

Seconds replayed_for(const TaskGraph& graph, const StepVariant& variant) {
  return run(graph, {.fidelity = Fidelity::closed, .variant = variant, .recorded = {}}).makespan;
}

}  // namespace

TEST_CASE("the longest path is as long as the replay, to the bit") {
  CHECK(rc::check([] {
    const TaskGraph graph = some_stages();
    std::vector<Seconds> times;
    for (const Collective& collective : graph.collectives) times.push_back(0.7 * collective.overhead);
    for (const StepVariant& variant : {StepVariant{.slowed_by = SlowedBy::nothing},
                                       StepVariant{.collectives = times, .slowed_by = SlowedBy::nothing}}) {
      const std::optional<Seconds> fixed = engine::fixed_makespan(graph, variant);
      RC_ASSERT(fixed.has_value());
      RC_ASSERT(*fixed == replayed_for(graph, variant));
    }
  }));
}

TEST_CASE("kernels that others slow have no fixed times, and are replayed") {
  TaskGraph graph;
  graph.program_of_rank = {0, 0};
  graph.collectives = {lasting_for(1, 2, 1), lasting_for(0.5, 2, 1)};
  graph.segments = {overlapped(1, 1, 0, 1, true)};
  graph.segments[0].program.of(Stream::compute)[3] = Compute{.duration = Seconds{1}, .use = {1, 0.5}};
  graph.programs.emplace_back().of(Stream::compute) = {RunSegment{0}};
  CHECK_FALSE(engine::fixed_makespan(graph, {}));
  CHECK(closed_makespan(graph, {}) == replayed_for(graph, {}));
  CHECK(closed_makespan(graph, {.slowed_by = SlowedBy::nothing}) < closed_makespan(graph, {}));
}

TEST_CASE("a program that joins a collective on two streams is replayed") {
  TaskGraph graph;
  graph.program_of_rank = {0};
  graph.collectives = {lasting_for(1, 1, 2)};
  Program& program = graph.programs.emplace_back();
  program.of(Stream::compute) = {Join{0}};
  program.of(Stream::layers) = {Join{0}};
  CHECK_FALSE(engine::fixed_makespan(graph, {.slowed_by = SlowedBy::nothing}));
  CHECK(closed_makespan(graph, {.slowed_by = SlowedBy::nothing}) == Seconds{2});
}

TEST_CASE("the longest path of tasks that wait for each other is an error, as in a replay") {
  TaskGraph graph;
  graph.program_of_rank = {0, 1};
  graph.collectives = {lasting_for(1, 2, 1), lasting_for(1, 2, 1)};
  graph.programs.emplace_back().of(Stream::compute) = {Join{0}, Join{1}};
  graph.programs.emplace_back().of(Stream::compute) = {Join{1}, Join{0}};
  CHECK_THROWS_AS(closed_makespan(graph, {.slowed_by = SlowedBy::nothing}), EngineError);
}
