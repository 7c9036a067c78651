#include "strategy/pipeline_order.hpp"

#include "strategy/stages.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <numeric>
#include <rapidcheck.h>
#include <string>
#include <tuple>

using namespace trainyard;

namespace {

constexpr auto gpipe = PipelineSchedule::gpipe;
constexpr auto one_f_one_b = PipelineSchedule::one_f_one_b;
constexpr auto interleaved = PipelineSchedule::interleaved;
constexpr auto zb_h1 = PipelineSchedule::zb_h1;
constexpr auto zb_v = PipelineSchedule::zb_v;
constexpr auto v_half = PipelineSchedule::v_half;
constexpr auto v_min = PipelineSchedule::v_min;
constexpr auto dualpipe_v = PipelineSchedule::dualpipe_v;

struct Pipeline {
  PipelineSchedule schedule{};
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;  ///< per stage
};

std::vector<Pass> order_on(const Pipeline& pipeline, int stage) {
  return pass_order(pipeline.schedule, pipeline.stages, pipeline.chunks, pipeline.micro_batches, stage);
}

/// Runs the passes of every stage in their order, each as soon as its data has arrived `latency` after the
/// pass that made it. Returns the time of the step, negative if the stages wait for each other for ever.
template <class Duration>
double run_passes(const Pipeline& pipeline, Duration duration, double latency = 0) {
  const int p = pipeline.stages;
  const int last_chunk = p * pipeline.chunks - 1;
  const ChunkPlaces places{.stages = p, .is_v = traits(pipeline.schedule).is_v};
  using Key = std::tuple<PassKind, int, int>;
  std::map<Key, double> ends;
  std::vector<std::vector<Pass>> orders;
  for (int stage = 0; stage < p; ++stage) orders.push_back(order_on(pipeline, stage));
  std::vector<std::size_t> next(orders.size(), 0);
  std::vector<double> clock(orders.size(), 0);
  const auto arrival = [&](Key key, bool is_local) {
    const auto made = ends.find(key);
    if (made == ends.end()) return -1.0;
    return made->second + (is_local ? 0 : latency);
  };
  for (bool moves = true; moves;) {
    moves = false;
    for (int stage = 0; stage < p; ++stage) {
      const std::size_t s = at(stage);
      for (; next[s] < orders[s].size(); ++next[s]) {
        const auto [kind, micro_batch, chunk] = orders[s][next[s]];
        const int global = places.of_model(stage, chunk);
        const auto is_here = [&](int other) { return places.stage_of(other) == stage; };
        double ready = 0;
        if (kind == PassKind::forward && global > 0)
          ready = arrival({PassKind::forward, micro_batch, global - 1}, is_here(global - 1));
        if (kind == PassKind::backward)
          ready = global == last_chunk
                      ? arrival({PassKind::forward, micro_batch, global}, true)
                      : arrival({PassKind::backward, micro_batch, global + 1}, is_here(global + 1));
        if (kind == PassKind::weights) ready = arrival({PassKind::backward, micro_batch, global}, true);
        if (ready < 0) break;
        clock[s] = std::max(clock[s], ready) + duration(kind, stage);
        ends[{kind, micro_batch, global}] = clock[s];
        moves = true;
      }
    }
  }
  for (std::size_t s = 0; s < orders.size(); ++s) {
    if (next[s] < orders[s].size()) return -1;
  }
  return std::ranges::max(clock);
}

double run_equal(const Pipeline& pipeline, const PassTimes& times, double latency = 0) {
  const auto duration = [&](PassKind kind, int) {
    const Seconds whole = kind == PassKind::forward    ? times.forward
                          : kind == PassKind::backward ? times.backward
                                                       : times.weights;
    return (whole / pipeline.chunks).si();
  };
  return run_passes(pipeline, duration, latency);
}

double closed_form_of(const Pipeline& pipeline, const PassTimes& times) {
  return (ideal_time(pipeline.micro_batches, times) +
          bubble(pipeline.schedule, pipeline.stages, pipeline.chunks, times))
      .si();
}

/// Counted along the order: a chunk's activations are kept from forward to its last pass.
int peak_on(const Pipeline& pipeline, int stage) {
  const PassKind last = traits(pipeline.schedule).splits_backward ? PassKind::weights : PassKind::backward;
  int kept = 0;
  int most = 0;
  for (const Pass& pass : order_on(pipeline, stage)) {
    if (pass.kind == PassKind::forward) most = std::max(most, ++kept);
    if (pass.kind == last) --kept;
  }
  return most;
}

std::vector<int> peaks(const Pipeline& pipeline) {
  std::vector<int> result;
  for (int stage = 0; stage < pipeline.stages; ++stage)
    result.push_back(kept_micro_batches(pipeline.schedule, pipeline.stages, pipeline.chunks,
                                        pipeline.micro_batches, stage));
  return result;
}

std::string text_of(const std::vector<Pass>& passes) {
  std::string text;
  for (const Pass& pass : passes) {
    text += text.empty() ? "" : " ";
    text += std::string(1, "FBW"[static_cast<int>(pass.kind)]) + std::to_string(pass.micro_batch);
    if (pass.chunk > 0) text += std::string(static_cast<std::size_t>(pass.chunk), '\'');
  }
  return text;
}

/// All pipelines of up to 8 stages, 16 micro-batches and 4 chunks.
std::vector<Pipeline> small_pipelines() {
  std::vector<Pipeline> result;
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 16; ++m) {
      for (const PipelineSchedule schedule : {gpipe, one_f_one_b, zb_h1}) result.push_back({schedule, p, m});
      for (int v = 1; v <= 4 && m % p == 0; ++v) result.push_back({interleaved, p, m, v});
      for (const PipelineSchedule schedule : {zb_v, v_half, v_min}) {
        if (p > 1) result.push_back({schedule, p, m, 2});
      }
      if (p > 1 && m >= 2 * p) result.push_back({dualpipe_v, p, m, 2});
    }
  }
  return result;
}

const PassTimes one_two{Seconds(1), Seconds(2)};
const PassTimes thirds{Seconds(1), Seconds(1), Seconds(1)};

}  // namespace

TEST_CASE("the orders of two stages") {
  CHECK(text_of(order_on({gpipe, 2, 3}, 0)) == "F0 F1 F2 B0 B1 B2");
  CHECK(text_of(order_on({one_f_one_b, 2, 3}, 0)) == "F0 F1 B0 F2 B1 B2");
  CHECK(text_of(order_on({one_f_one_b, 2, 3}, 1)) == "F0 B0 F1 B1 F2 B2");
  CHECK(text_of(order_on({zb_h1, 2, 3}, 0)) == "F0 F1 B0 W0 F2 B1 W1 B2 W2");
  CHECK(text_of(order_on({zb_h1, 2, 3}, 1)) == "F0 B0 F1 B1 W0 F2 B2 W1 W2");
  CHECK(text_of(order_on({interleaved, 2, 2, 2}, 0)) == "F0 F1 F0' F1' B0' B1' B0 B1");
  CHECK(text_of(order_on({interleaved, 2, 2, 2}, 1)) == "F0 F1 F0' B0' F1' B1' B0 B1");
}

TEST_CASE("without a choice the schedule is 1f1b, interleaved with virtual stages") {
  CHECK(schedule_of({}) == one_f_one_b);
  CHECK(schedule_of({.virtual_stages = 2}) == interleaved);
  CHECK(schedule_of({.schedule = gpipe}) == gpipe);
}

TEST_CASE("every micro-batch and chunk has each kind of pass once") {
  for (const Pipeline& pipeline : small_pipelines()) {
    CAPTURE(text_of(order_on(pipeline, 0)));
    const std::size_t each = at(pipeline.micro_batches * pipeline.chunks);
    for (int stage = 0; stage < pipeline.stages; ++stage) {
      std::map<std::tuple<PassKind, int, int>, int> times;
      for (const Pass& pass : order_on(pipeline, stage)) {
        ++times[{pass.kind, pass.micro_batch, pass.chunk}];
        REQUIRE(pass.micro_batch < pipeline.micro_batches);
        REQUIRE(pass.chunk < pipeline.chunks);
      }
      REQUIRE(times.size() == each * (traits(pipeline.schedule).splits_backward ? 3 : 2));
      REQUIRE(std::ranges::all_of(times, [](const auto& count) { return count.second == 1; }));
    }
  }
}

TEST_CASE("no schedule waits for ever, and with free messages each but those of a V takes its closed form") {
  for (const Pipeline& pipeline : small_pipelines()) {
    CAPTURE(text_of(order_on(pipeline, 0)));
    const PassTimes& times = traits(pipeline.schedule).splits_backward ? thirds : one_two;
    const double time = run_equal(pipeline, times);
    REQUIRE(time > 0);
    if (traits(pipeline.schedule).is_v) continue;
    if (pipeline.schedule != zb_h1 || pipeline.micro_batches >= pipeline.stages)
      REQUIRE(time == doctest::Approx(closed_form_of(pipeline, times)).epsilon(1e-12));
  }
}

TEST_CASE("the times of the published schedules") {
  const auto both = [](const Pipeline& pipeline, const PassTimes& times, double expected) {
    CHECK(run_equal(pipeline, times) == doctest::Approx(expected).epsilon(1e-12));
    CHECK(closed_form_of(pipeline, times) == doctest::Approx(expected).epsilon(1e-12));
  };
  for (const PipelineSchedule schedule : {gpipe, one_f_one_b}) {
    both({schedule, 4, 8}, one_two, 33);
    both({schedule, 8, 24}, one_two, 93);
    both({schedule, 16, 64}, one_two, 237);
  }
  both({interleaved, 4, 8, 2}, one_two, 28.5);
  both({interleaved, 4, 8, 4}, one_two, 26.25);
  both({interleaved, 8, 24, 2}, one_two, 82.5);
  both({interleaved, 8, 64, 3}, one_two, 199);
  both({zb_h1, 4, 8}, thirds, 27);
  both({zb_h1, 8, 24}, thirds, 79);
  both({zb_h1, 8, 64}, thirds, 199);
  both({zb_h1, 8, 24}, {Seconds(2), Seconds(3), Seconds(2)}, 189);
}

TEST_CASE("the bubbles of a V, in forward passes of a chunk, if all three kinds of pass take as long") {
  const auto bubble_of = [](PipelineSchedule schedule, int stages, int micro_batches) {
    const PassTimes twos{Seconds(2), Seconds(2), Seconds(2)};  // of both chunks
    return run_equal({schedule, stages, micro_batches, 2}, twos) - 6.0 * micro_batches;
  };
  for (int p = 2; p <= 16; ++p) {
    for (int m = 2 * p; m <= 6 * p; m += p + 1) {
      CAPTURE(p);
      CAPTURE(m);
      // The first forward pass reaches the last stage p - 1 passes late; nothing else is lost.
      CHECK(bubble_of(zb_v, p, m) == p - 1);
      CHECK(bubble_of(dualpipe_v, p, m) == p - 1);
      if (p % 3 != 0) CHECK(bubble_of(v_min, p, m) == 4 * p - 5);
      CHECK(bubble_of(v_half, p, m) < bubble_of(v_min, p, m));
    }
  }
  // Greedy reordering in sail-sg/zero-bubble reaches the same: 5, 17 and 41 passes.
  CHECK(bubble_of(v_half, 4, 8) == 5);
  CHECK(bubble_of(v_half, 8, 16) == 17);
  CHECK(bubble_of(v_half, 16, 32) == 41);
}

TEST_CASE("a V with 1,024 micro-batches repeats the middle of one with few") {
  for (const PipelineSchedule schedule : {zb_v, v_half, v_min, dualpipe_v}) {
    CHECK(run_equal({schedule, 8, 1024, 2}, thirds) - 3.0 * 1024 ==
          doctest::Approx(run_equal({schedule, 8, 32, 2}, thirds) - 3.0 * 32).epsilon(1e-9));
  }
}

TEST_CASE("one micro-batch passes the stages one after the other, as layers placed on devices do") {
  CHECK(run_equal({gpipe, 5, 1}, one_two) == 15);
}

TEST_CASE("zb_h1 takes its closed form wherever the gradients of the weights are the shortest pass") {
  CHECK(rc::check([] {
    const int stages = *rc::gen::inRange(1, 9);
    const int micro_batches = stages + *rc::gen::inRange(0, 20);
    const int weights = *rc::gen::inRange(0, 5);
    const PassTimes times{Seconds(weights + *rc::gen::inRange(0, 5)),
                          Seconds(weights + *rc::gen::inRange(0, 5)), Seconds(weights)};
    const Pipeline pipeline{zb_h1, stages, micro_batches};
    RC_ASSERT(run_equal(pipeline, times) == closed_form_of(pipeline, times));
  }));
}

TEST_CASE("the kept micro-batches are the most at any time of the order") {
  for (const Pipeline& pipeline : small_pipelines()) {
    CAPTURE(text_of(order_on(pipeline, 0)));
    const std::vector<int> kept = peaks(pipeline);
    for (int stage = 0; stage < pipeline.stages; ++stage)
      REQUIRE(kept[at(stage)] == peak_on(pipeline, stage));
  }
}

TEST_CASE("the kept micro-batches of the published schedules") {
  CHECK(peaks({gpipe, 4, 8}) == std::vector{8, 8, 8, 8});
  CHECK(peaks({one_f_one_b, 4, 8}) == std::vector{4, 3, 2, 1});
  CHECK(peaks({interleaved, 4, 8, 2}) == std::vector{11, 9, 7, 5});
  CHECK(peaks({interleaved, 8, 64, 3}) == std::vector{31, 29, 27, 25, 23, 21, 19, 17});
  CHECK(peaks({zb_h1, 4, 8}) == std::vector{4, 4, 4, 4});
  const auto most = [](PipelineSchedule schedule, int stages) {
    return std::ranges::max(peaks({schedule, stages, 4 * stages, 2}));
  };
  CHECK(most(zb_v, 8) == 16);
  CHECK(most(dualpipe_v, 8) == 17);
  CHECK(most(v_half, 8) == 10);
  CHECK(most(v_half, 16) == 18);
  CHECK(most(v_min, 8) == 8);
  CHECK(most(v_min, 16) == 12);
}

TEST_CASE("the latency of messages is paid on the way there and back, by 1f1b on every round trip") {
  const double latency = 0.125;
  const auto extra = [&](const Pipeline& pipeline) {
    return (run_equal(pipeline, one_two, latency) - run_equal(pipeline, one_two)) / latency;
  };
  CHECK(extra({gpipe, 4, 8}) == 6);
  CHECK(extra({one_f_one_b, 4, 8}) == 16);
  CHECK(extra({interleaved, 4, 8, 2}) == 14);
  for (int p = 2; p <= 8; ++p) {
    for (int rounds = 1; rounds <= 4; ++rounds) {
      const int m = rounds * p;
      CAPTURE(p);
      CAPTURE(m);
      CHECK(extra({gpipe, p, m}) == 2 * (p - 1));
      CHECK(extra({one_f_one_b, p, m}) == 2 * ((p - 1) * rounds + p - 2));
      CHECK(extra({interleaved, p, m, 2}) == 2 * (2 * p - 1));
    }
  }
}

TEST_CASE("unequal stages: gpipe exactly, 1f1b between its bounds") {
  CHECK(rc::check([] {
    const int p = *rc::gen::inRange(1, 9);
    const int m = *rc::gen::inRange(1, 17);
    const auto times = rc::gen::container<std::vector<int>>(at(p), rc::gen::inRange(1, 10));
    const std::vector<int> f = *times;
    const std::vector<int> b = *times;
    const auto duration = [&](PassKind kind, int stage) {
      return static_cast<double>(kind == PassKind::forward ? f[at(stage)] : b[at(stage)]);
    };
    const int through = std::accumulate(f.begin(), f.end(), 0) + std::accumulate(b.begin(), b.end(), 0);
    const int of_gpipe = through + (m - 1) * (std::ranges::max(f) + std::ranges::max(b));
    RC_ASSERT(run_passes({gpipe, p, m}, duration) == of_gpipe);
    int least = 0;
    int before = 0;
    for (std::size_t r = 0; r < at(p); ++r) {
      least = std::max(least, m * (f[r] + b[r]) + before);
      before += f[r] + b[r];
    }
    const double time = run_passes({one_f_one_b, p, m}, duration);
    RC_ASSERT(time >= least);
    // The sum of the slowest stage's passes for each further micro-batch is no bound: with forward 1, 1, 4,
    // 1, backward 1, 4, 1, 1 and two micro-batches it is 19, the step 20.
    RC_ASSERT(time <= of_gpipe);
  }));
}
