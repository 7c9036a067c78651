// Profiles with several micro-batches before an update.

#include "errors_of.hpp"
#include "imports/checked_trace.hpp"
#include "imports/kineto_text.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_kineto.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <vector>

using namespace trainyard;
using testing::host_event;
using testing::ProfileFile;

namespace {

ImportedTrace imported(const std::vector<std::string>& events) {
  const Profile profile = read_kineto(ProfileFile(testing::kineto_text(events)).path());
  return trace_of(profile, join_launches(profile));
}

struct Pass {
  double at = 0;        ///< us
  double forward = 10;  ///< us of its forward kernel
  int size = 64;        ///< of its gradient
  bool adds = false;    ///< its gradient to an earlier one
};

/// A forward and a backward pass of a layer, 30 us.
void add_pass(std::vector<std::string>& events, const Pass& pass, int& correlation) {
  const auto add = [&](const std::vector<std::string>& more) {
    events.insert(events.end(), more.begin(), more.end());
  };
  const double at = pass.at;
  const int sequence = correlation;
  add({host_event("cpu_op", "aten::linear", at, 4,
                  fmt::format(R"("Sequence number": {}, "Input Dims": [[8, 16], [4, 16], [4]])", sequence)),
       host_event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", at + 5, 6,
                  fmt::format(R"("Sequence number": {}, "Fwd thread id": 1)", sequence), 2),
       host_event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at + 12,
                  4, "", 2),
       host_event("cpu_op", "torch::autograd::AccumulateGrad", at + 13, 2,
                  fmt::format(R"("Input Dims": [[{}]], "Input type": ["float"])", pass.size), 2)});
  add(testing::kernel("forward_gemm", at + 1, at + 2, pass.forward, correlation++));
  add(testing::kernel("backward_gemm", at + 6, at + 14, 8, correlation++, 2));
  if (!pass.adds) return;
  events.push_back(host_event("cpu_op", "aten::add_", at + 13.5, 1, "", 2));
  add(testing::kernel("add", at + 14, at + 24, 3, correlation++, 2));
}

std::vector<std::string> step_of(const std::vector<Pass>& passes, bool updates_between = false) {
  std::vector<std::string> events{host_event("user_annotation", "ProfilerStep#3", 0, 1000)};
  int correlation = 1;
  const auto update = [&](double at) {
    events.push_back(host_event("user_annotation", "Optimizer.step#SGD.step", at, 4));
    const auto kernels = testing::kernel("update", at + 1, at + 2, 5, correlation++);
    events.insert(events.end(), kernels.begin(), kernels.end());
  };
  for (const Pass& pass : passes) {
    add_pass(events, pass, correlation);
    if (updates_between) update(pass.at + 28);
  }
  if (!updates_between) update(900);
  return events;
}

}  // namespace

TEST_CASE("a step of several micro-batches is the trace of one, without the sums of gradients") {
  const ImportedTrace its = imported(step_of(
      {{.at = 10}, {.at = 110, .forward = 12, .adds = true}, {.at = 210, .forward = 14, .adds = true}}));
  CHECK(its.accumulation == 3);
  CHECK(its.adding_gradients == 6'000);
  REQUIRE(its.trace.ops.size() == 3);
  CHECK(its.trace.ops[0].duration->si() == doctest::Approx(12e-6));  // the median
  CHECK(its.trace.ops[1].layer == "linear.0");                       // of its forward op
  CHECK(its.trace.ops[1].phase == Phase::backward);
  CHECK(its.trace.ops[1].gradients.size() == 1);
  CHECK(its.trace.ops[2].kind == OpKind::optimizer);
  CHECK(its.trace.accumulation == 1);
  CHECK(its.warnings.empty());
  CHECK(its.parts.computing ==
        10'000 + 12'000 + 14'000 + 3 * 8'000 + 6'000 + 5'000 - 2'000);  // two kernels overlap
}

TEST_CASE("collectives of earlier micro-batches are left out, or each micro-batch has them") {
  const auto with_reductions = [](const std::vector<double>& times) {
    std::vector<std::string> events = step_of({{.at = 10}, {.at = 110, .adds = true}});
    int correlation = 100;
    for (const double at : times) {
      events.push_back(host_event(
          "cpu_op", "record_param_comms", at, 2,
          R"("Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float")",
          2));
      const auto kernels = testing::kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at + 1, at + 20, 5,
                                           correlation++, 2, 20);
      events.insert(events.end(), kernels.begin(), kernels.end());
    }
    return imported(events);
  };
  const ImportedTrace each = with_reductions({26, 126});
  CHECK(each.accumulation == 2);
  CHECK(each.reduces_each);
  CHECK(each.collectives == 1);
  CHECK(each.left_out.empty());
  const ImportedTrace last = with_reductions({126});
  CHECK_FALSE(last.reduces_each);
  CHECK(last.collectives == 1);
  const ImportedTrace some = with_reductions({26, 126, 130});
  CHECK_FALSE(some.reduces_each);
  REQUIRE(some.left_out.size() == 1);
  CHECK(some.left_out.front().what == "collectives of micro-batches before the last");
}

TEST_CASE("passes with updates between them, or of other gradients, are no micro-batches") {
  const ImportedTrace updates = imported(step_of({{.at = 10}, {.at = 110}}, true));
  CHECK(updates.accumulation == 1);
  REQUIRE(updates.warnings.size() == 1);
  CHECK(updates.warnings.front().find("forward and backward work alternate 2 times") == 0);
  const ImportedTrace others = imported(step_of({{.at = 10}, {.at = 110, .size = 32}}));
  CHECK(others.accumulation == 1);
  CHECK(others.warnings.size() == 1);
}

TEST_CASE("accumulation that cannot be divided is refused") {
  // each size comes twice in two passes, but both times in the same one
  std::vector<std::string> events = step_of({{.at = 10}, {.at = 110, .size = 32}});
  events.push_back(host_event("cpu_op", "torch::autograd::AccumulateGrad", 26, 1,
                              R"("Input Dims": [[64]], "Input type": ["float"])", 2));
  events.push_back(host_event("cpu_op", "torch::autograd::AccumulateGrad", 126, 1,
                              R"("Input Dims": [[32]], "Input type": ["float"])", 2));
  const auto errors = errors_of([&] { (void)imported(events); });
  REQUIRE_FALSE(errors.empty());
  CHECK(errors.front().message == "step 3 accumulates gradients over 2 passes that cannot be told apart");
}

TEST_CASE("a trace that was imported reads back, whatever the names of its layers") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  for (const std::string name :
       {R"(nn.Module: a;b,c)", R"(nn.Module: \"quoted\" \u0007 bell)",
        "nn.Module:  ", R"(nn.Module: gradient_work.x)", R"(nn.Module: # model: x)"}) {
    CAPTURE(name);
    std::vector<std::string> named = events;
    named.push_back(host_event("python_function", name, 1001, 90));
    const ImportedTrace its = imported(named);
    CHECK_FALSE(checked_trace_text("t.csv", its.trace).empty());
  }
  Trace trace;
  trace.ops.resize(1);
  trace.ops.front().layer = "a";
  trace.ops.front().kind = OpKind::measured;
  trace.ops.front().duration = Seconds(7 * 86'400);
  trace.ops.front().layer = "b";
  trace.ops.front().phase = Phase::backward;
  trace.ops.insert(trace.ops.begin(), trace.ops.front());
  trace.ops.front().duration = Seconds(1);
  trace.ops.front().phase = Phase::forward;
  const auto errors = errors_of([&] { (void)checked_trace_text("rank0.json", trace); });
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().file == "rank0.json");
  CHECK(errors.front().line == 0);
  CHECK(errors.front().message.starts_with("op 'b' of backward: "));
}
