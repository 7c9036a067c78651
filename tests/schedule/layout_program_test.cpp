// The programs of pipeline stages, replayed by the engine, against closed forms of the step time.

#include "schedule/layout_program.hpp"

#include "hand_made_pipeline.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <rapidcheck.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr auto gpipe = PipelineSchedule::gpipe;
constexpr auto one_f_one_b = PipelineSchedule::one_f_one_b;
constexpr auto interleaved = PipelineSchedule::interleaved;
constexpr auto zb_h1 = PipelineSchedule::zb_h1;

constexpr LayoutOverlap exposed_messages{.messages = false};

const PassTimes one_two{Seconds(1), Seconds(2)};
const PassTimes thirds{Seconds(1), Seconds(1), Seconds(1)};

const PassTimes& usual_times(const HandMadePipeline& pipeline) {
  return splits_backward(pipeline) ? thirds : one_two;
}

double equal_step(const HandMadePipeline& pipeline, const PassTimes& times, double latency = 0,
                  const LayoutOverlap& overlap = {.messages = true}) {
  return hand_made_step(pipeline, equal_stages(pipeline, times), Seconds(latency), overlap);
}

}  // namespace

TEST_CASE("with free messages the program of every schedule takes its closed form") {
  for (const HandMadePipeline& pipeline : small_hand_made_pipelines()) {
    const auto [schedule, p, m, v] = pipeline;
    if (traits(schedule).is_v || (schedule == zb_h1 && m < p)) continue;  // no closed form
    const PassTimes& times = usual_times(pipeline);
    const double all = (times.forward + times.backward + times.weights).si();
    const double idle = schedule == zb_h1 ? (times.forward + times.backward - times.weights).si() : all / v;
    CAPTURE(config::name_of(schedule));
    CAPTURE(p);
    CAPTURE(m);
    CAPTURE(v);
    for (const bool overlaps : {true, false}) {
      // Stages that hold each other up by messages idle, but in gpipe and 1f1b they would anyway.
      if (!overlaps && schedule != gpipe && schedule != one_f_one_b) continue;
      CHECK(equal_step(pipeline, times, 0, {.messages = overlaps}) ==
            doctest::Approx(m * all + (p - 1) * idle).epsilon(1e-12));
    }
  }
}

TEST_CASE("the programs of a V idle as its order does: a pass of a chunk per stage before the last") {
  const PassTimes twos{Seconds(2), Seconds(2), Seconds(2)};  // of both chunks
  for (const PipelineSchedule schedule : {PipelineSchedule::zb_v, PipelineSchedule::dualpipe_v}) {
    CHECK(equal_step({schedule, 4, 8, 2}, twos) == 6 * 8 + 3);
    CHECK(equal_step({schedule, 8, 40, 2}, twos) == 6 * 40 + 7);
  }
  CHECK(equal_step({PipelineSchedule::v_half, 8, 16, 2}, twos) == 6 * 16 + 17);
  CHECK(equal_step({PipelineSchedule::v_min, 8, 16, 2}, twos) == 6 * 16 + 27);
}

TEST_CASE("the programs of the published schedules take the published times") {
  CHECK(equal_step({gpipe, 4, 8}, one_two) == 33);
  CHECK(equal_step({one_f_one_b, 16, 64}, one_two) == 237);
  CHECK(equal_step({interleaved, 4, 8, 2}, one_two) == 28.5);
  CHECK(equal_step({interleaved, 4, 8, 4}, one_two) == 26.25);
  CHECK(equal_step({interleaved, 8, 24, 2}, one_two) == 82.5);
  CHECK(equal_step({interleaved, 8, 64, 3}, one_two) == doctest::Approx(199).epsilon(1e-12));
  CHECK(equal_step({zb_h1, 4, 8}, thirds) == 27);
  CHECK(equal_step({zb_h1, 8, 64}, thirds) == 199);
  CHECK(equal_step({zb_h1, 8, 24}, {Seconds(2), Seconds(3), Seconds(2)}) == 189);
}

TEST_CASE(
    "the messages of a V never wait for each other in a circle, however long they and the passes take") {
  CHECK(rc::check([] {
    const auto schedule = *rc::gen::element(PipelineSchedule::zb_v, PipelineSchedule::v_half,
                                            PipelineSchedule::v_min, PipelineSchedule::dualpipe_v);
    const int p = *rc::gen::inRange(2, 9);
    const HandMadePipeline pipeline{schedule, p, 2 * p + *rc::gen::inRange(0, 40), 2};
    const PassTimes times{Seconds(*rc::gen::inRange(1, 9)), Seconds(*rc::gen::inRange(1, 9)),
                          Seconds(*rc::gen::inRange(1, 9))};
    const double latency = *rc::gen::inRange(0, 50) * 0.25;
    RC_ASSERT(equal_step(pipeline, times, latency) >=
              ideal_time(pipeline.micro_batches, times).si() * (1 - 1e-12));
  }));
}

TEST_CASE("no schedule waits for ever, whether its messages run beside kernels or hold them up") {
  for (const HandMadePipeline& pipeline : small_hand_made_pipelines()) {
    const PassTimes& times = usual_times(pipeline);
    CAPTURE(config::name_of(pipeline.schedule));
    CAPTURE(pipeline.stages);
    CAPTURE(pipeline.micro_batches);
    CAPTURE(pipeline.chunks);
    const double free = equal_step(pipeline, times);
    const double beside = equal_step(pipeline, times, 0.125);
    CHECK(free >= ideal_time(pipeline.micro_batches, times).si() * (1 - 1e-12));
    CHECK(beside >= free);
    if (traits(pipeline.schedule).has_virtual_stages) continue;  // its messages never hold up kernels
    double exposed = 0;
    REQUIRE_NOTHROW(exposed = equal_step(pipeline, times, 0.125, exposed_messages));
    CHECK(exposed >= beside * (1 - 1e-12));
  }
}

TEST_CASE("the latency of messages beside kernels is paid once, by 1f1b on every round trip") {
  const double latency = 0.0625;
  const auto extra = [&](const HandMadePipeline& pipeline) {
    return (equal_step(pipeline, one_two, latency) - equal_step(pipeline, one_two)) / latency;
  };
  for (int p = 2; p <= 8; ++p) {
    for (int m = p; m <= 16; m += p) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(extra({gpipe, p, m}) == doctest::Approx(2 * (p - 1)));
      CHECK(extra({one_f_one_b, p, m}) == doctest::Approx(2 * ((p - 1) * (m / p) + p - 2)));
      for (int v = 2; v <= 4; ++v) CHECK(extra({interleaved, p, m, v}) == doctest::Approx(2 * (p * v - 1)));
    }
  }
}

TEST_CASE("messages that hold up kernels cost at least one latency per message and stage") {
  const double latency = 0.25;
  for (int p = 2; p <= 6; ++p) {
    for (int m = p; m <= 12; m += 3) {
      CAPTURE(p);
      CAPTURE(m);
      // Stage 0 sends m activations and receives m gradients; at most one of each at a time.
      CHECK(equal_step({one_f_one_b, p, m}, one_two, latency, exposed_messages) >= m * (3 + latency));
      CHECK(equal_step({gpipe, p, m}, one_two, latency, exposed_messages) ==
            doctest::Approx((m + p - 1) * 3 + 2 * latency * (m + p - 2 + (p > 2 ? m - 1 : 0))));
    }
  }
}

TEST_CASE("unequal stages: gpipe takes its closed form, 1f1b a time between its bounds") {
  CHECK(rc::check([] {
    const int p = *rc::gen::inRange(1, 9);
    const int m = *rc::gen::inRange(1, 17);
    const auto times = rc::gen::container<std::vector<int>>(at(p), rc::gen::inRange(1, 10));
    const std::vector<int> f = *times;
    const std::vector<int> b = *times;
    const TimeOfPass time = [&](PassKind kind, int stage) {
      return Seconds(kind == PassKind::forward ? f[at(stage)] : b[at(stage)]);
    };
    const int through = std::accumulate(f.begin(), f.end(), 0) + std::accumulate(b.begin(), b.end(), 0);
    const int of_gpipe = through + (m - 1) * (std::ranges::max(f) + std::ranges::max(b));
    RC_ASSERT(hand_made_step({gpipe, p, m}, time) == of_gpipe);
    int least = 0;
    int before = 0;
    for (std::size_t r = 0; r < at(p); ++r) {
      least = std::max(least, m * (f[r] + b[r]) + before);
      before += f[r] + b[r];
    }
    const double step = hand_made_step({one_f_one_b, p, m}, time);
    RC_ASSERT(step >= least);
    // The sum of the slowest stage's passes for each further micro-batch is no bound: with forward 1, 1, 4,
    // 1, backward 1, 4, 1, 1 and two micro-batches it is 19, the step 20.
    RC_ASSERT(step <= of_gpipe);
  }));
}

TEST_CASE("the bubble of zb_h1 is closed wherever the gradients of the weights are the shortest pass") {
  CHECK(rc::check([] {
    const int p = *rc::gen::inRange(1, 9);
    const int m = p + *rc::gen::inRange(0, 9);
    const int w = *rc::gen::inRange(1, 5);
    const PassTimes times{Seconds(w + *rc::gen::inRange(0, 5)), Seconds(w + *rc::gen::inRange(0, 5)),
                          Seconds(w)};
    const HandMadePipeline pipeline{zb_h1, p, m};
    RC_ASSERT(equal_step(pipeline, times) == (ideal_time(m, times) + bubble(zb_h1, p, 1, times)).si());
  }));
}

TEST_CASE("a faster pass or message never makes a step longer") {
  CHECK(rc::check([] {
    const std::vector<HandMadePipeline> all = small_hand_made_pipelines();
    const HandMadePipeline pipeline = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const double latency = *rc::gen::inRange(0, 8) * 0.0625;
    const bool overlaps = traits(pipeline.schedule).has_virtual_stages || *rc::gen::arbitrary<bool>();
    const PassTimes times{Seconds(*rc::gen::inRange(1, 9)), Seconds(*rc::gen::inRange(1, 9)),
                          Seconds(splits_backward(pipeline) ? *rc::gen::inRange(1, 9) : 0)};
    const double whole = equal_step(pipeline, times, latency, {.messages = overlaps});
    const PassTimes faster{times.forward * 0.5, times.backward, times.weights};
    constexpr double rounding = 1 + 1e-12;
    RC_ASSERT(equal_step(pipeline, faster, latency, {.messages = overlaps}) <= whole * rounding);
    RC_ASSERT(equal_step(pipeline, times, latency / 2, {.messages = overlaps}) <= whole * rounding);
  }));
}

TEST_CASE("every message is sent once and received once for each micro-batch") {
  for (const HandMadePipeline& pipeline : small_hand_made_pipelines()) {
    const TaskGraph graph = hand_made_graph(pipeline, equal_stages(pipeline, usual_times(pipeline)));
    std::vector<int> joins(graph.collectives.size());
    for (Program program : graph.programs)
      for_each_task<Join>(program, [&](const Join& join) { ++joins[at(join.collective)]; });
    for (std::size_t i = 0; i < joins.size(); ++i) REQUIRE(joins[i] == 2 * pipeline.micro_batches);
  }
}
