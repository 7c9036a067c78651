// What tells the steps and passes of a profile apart where the profiler's own marks do not.

#include "errors_of.hpp"
#include "imports/kineto_text.hpp"
#include "imports/profile_figures.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_kineto.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <numeric>
#include <string>
#include <vector>

using namespace trainyard;
using testing::host_event;
using testing::ProfileFile;

namespace {

struct ImportedProfile {
  Profile profile;
  ProfileWork work;
  ImportedTrace its;
};

ImportedProfile imported_text(const std::string& text, const ImportOptions& options = {},
                              const KinetoOptions& how = {}) {
  Profile profile = read_kineto(ProfileFile(text).path(), how);
  ProfileWork work = join_launches(profile, options.step_range);
  ImportedTrace trace = trace_of(profile, work, options);
  return {std::move(profile), std::move(work), std::move(trace)};
}

void append(std::vector<std::string>& events, const std::vector<std::string>& more) {
  events.insert(events.end(), more.begin(), more.end());
}

/// Steps of two layers, 100 us apart, without the ranges that mark them.
std::vector<std::string> unmarked_steps(int count) {
  std::vector<std::string> events;
  for (int i = 0; i < count; ++i) {
    auto one = testing::step_of_two_layers(i, 1000 + 100.0 * i, 100 * (i + 1));
    append(events, {one.begin() + 1, one.end()});
  }
  return events;
}

double sum_of_durations(const Trace& trace) {
  return std::accumulate(trace.ops.begin(), trace.ops.end(), 0.0,
                         [](double sum, const Op& op) { return sum + op.duration->si() * 1e9; });
}

/// A step whose optimizer calls a closure: forward in its range, backward on another thread meanwhile, then
/// the update itself. `sequence`: operators that backward differentiates have numbers.
std::vector<std::string> step_with_closure(bool sequence, double at = 0, int correlation = 1) {
  const auto number = [&](std::string_view more = {}) {
    return sequence ? fmt::format("\"Sequence number\": 1{}", more) : std::string();
  };
  std::vector<std::string> events{host_event("user_annotation", "Optimizer.step#Adam.step", at + 1, 80),
                                  host_event("cpu_op", "aten::linear", at + 2, 9, number()),
                                  host_event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0",
                                             at + 20, 9, number(", \"Fwd thread id\": 1"), 2),
                                  host_event("cpu_op", "aten::mm", at + 21, 7, "", 2),
                                  host_event("cpu_op", "aten::lerp_", at + 15, 4),
                                  host_event("cpu_op", "aten::_foreach_add_", at + 60, 9)};
  append(events, testing::kernel("forward_gemm", at + 3, at + 4, 10, correlation));
  append(events, testing::kernel("line_search", at + 16, at + 17, 2, correlation + 1));
  append(events, testing::kernel("backward_gemm", at + 22, at + 24, 20, correlation + 2, 2));
  append(events, testing::kernel("update", at + 61, at + 62, 5, correlation + 3));
  return events;
}

}  // namespace

TEST_CASE("without marks each pass of the optimizer ends a step") {
  const ImportedProfile all = imported_text(testing::kineto_text(unmarked_steps(3)), {.host_gaps = true});
  CHECK(all.work.marks == StepMarks::updates);
  REQUIRE(all.work.steps.size() == 3);
  CHECK(all.work.steps[1].start == all.work.steps[0].end);
  CHECK(all.its.steps == std::vector<int>{0, 1, 2});
  CHECK(all.its.parts.period == 100'000);
  CHECK(all.its.parts.computing == 44'000);
  REQUIRE_FALSE(all.its.warnings.empty());
  CHECK(all.its.warnings.front().find("each of its 3 passes of the optimizer ends one") != std::string::npos);
  const ImportedProfile one = imported_text(testing::kineto_text(unmarked_steps(1)));
  CHECK(one.work.steps.empty());
  CHECK(one.its.shown_step == -1);
}

TEST_CASE("passes of several optimizers without backward work between them are one update") {
  std::vector<std::string> events;
  for (int i = 0; i < 2; ++i) {
    const double at = 1000 + 100.0 * i;
    auto one = testing::step_of_two_layers(i, at, 100 * (i + 1));
    append(events, {one.begin() + 1, one.end()});
    events.push_back(host_event("user_annotation", "Optimizer.step#SparseAdam.step", at + 72, 10));
    append(events, testing::kernel("sparse", at + 73, at + 76, 4, 100 * (i + 1) + 50));
  }
  const ImportedProfile its = imported_text(testing::kineto_text(events));
  CHECK(its.work.steps.size() == 2);
  CHECK(its.its.parts.computing == 48'000);
}

TEST_CASE("a range that is a part of the step does not count the rest of the step as idle") {
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) {
    auto one = testing::step_of_two_layers(i, 1000 + 100.0 * i, 100 * (i + 1));
    one.front() = host_event("user_annotation", "forward", 1000 + 100.0 * i, 16);
    append(events, one);
  }
  const ImportedProfile its = imported_text(testing::kineto_text(events), {.step_range = "forward"});
  CHECK(its.its.parts.is_part);
  CHECK(its.its.parts.period == 25'000);  // two kernels without a gap
  CHECK(its.its.parts.idle == 0);
  CHECK(its.its.warnings.front().find("other work of the GPU follows each range") == 0);
}

TEST_CASE("forward and backward in an optimizer's closure are no update") {
  for (const bool sequence : {true, false}) {
    CAPTURE(sequence);
    const ImportedProfile its = imported_text(testing::kineto_text(step_with_closure(sequence)));
    const ProfileFigures figures = figures_of(its.profile, its.work);
    const auto kernels = [&](WorkPhase phase) {
      return figures.kernels_of_phase[static_cast<std::size_t>(phase)];
    };
    // without numbers only the time of the last backward launch tells forward from update
    CHECK(kernels(WorkPhase::rest) == (sequence ? 1 : 2));
    CHECK(kernels(WorkPhase::backward) == 1);
    CHECK(kernels(WorkPhase::optimizer) == (sequence ? 2 : 1));
    CHECK(its.its.trace.ops.front().phase == Phase::forward);
    CHECK(its.its.trace.ops.back().phase == Phase::optimizer);
  }
}

TEST_CASE("backward on the optimizer's own thread is backward, and closures end steps too") {
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) append(events, step_with_closure(true, 100.0 * i, 10 * i + 1));
  for (std::string& event : events) {
    if (const auto at = event.find("\"tid\": 2"); at != std::string::npos) event[at + 7] = '1';
  }
  const ImportedProfile its = imported_text(testing::kineto_text(events));
  CHECK(its.work.steps.size() == 3);
  CHECK(its.its.steps.size() == 3);
  REQUIRE(its.its.trace.ops.size() == 3);
  CHECK(its.its.trace.ops[1].phase == Phase::backward);
}

TEST_CASE("idle times are ops before those that end them, also behind the last") {
  const ImportedProfile its = imported_text(testing::three_steps(), {.host_gaps = true});
  const std::vector<Op>& ops = its.its.trace.ops;
  REQUIRE(ops.size() == 7);
  CHECK(ops[4].kind == OpKind::host);
  CHECK(ops[4].duration->si() * 1e9 == doctest::Approx(5'000));
  CHECK(ops[5].phase == Phase::optimizer);
  CHECK(ops[6].kind == OpKind::host);
  CHECK(ops[6].duration->si() * 1e9 == doctest::Approx(36'000));
  CHECK(its.its.rows.size() == ops.size());
  const StepRows& parts = its.its.parts;
  CHECK(sum_of_durations(its.its.trace) + static_cast<double>(parts.exposed) ==
        doctest::Approx(static_cast<double>(parts.period)));
}

TEST_CASE("copies to the host are ops too where idle times are") {
  std::vector<std::string> events;
  for (int i = 0; i < 2; ++i) {
    const double at = 1000 + 100.0 * i;
    append(events, testing::step_of_two_layers(i + 3, at, 100 * (i + 1)));
    events.push_back(host_event("cuda_runtime", "cudaMemcpyAsync", at + 75, 1,
                                fmt::format("\"correlation\": {}", 100 * (i + 1) + 60)));
    events.push_back(
        testing::gpu_event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", at + 80, 6, 100 * (i + 1) + 60));
  }
  const ImportedProfile its = imported_text(testing::kineto_text(events), {.host_gaps = true});
  CHECK(its.its.parts.copying == 6'000);
  const Op& copy = its.its.trace.ops[6];
  CHECK(copy.layer.starts_with(host_copy_layer));
  CHECK(copy.duration->si() * 1e9 == doctest::Approx(6'000));
  CHECK(sum_of_durations(its.its.trace) + 15'000 == doctest::Approx(100'000));
}

TEST_CASE("a late launch beside a reduction is the host's time, not waiting for the reduction") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  // one more backward kernel, launched when the all-reduce from 50 to 65 us has run for 4 us
  events.push_back(host_event("cpu_op", "autograd::engine::evaluate_function: MulBackward0", 1053, 5,
                              R"("Sequence number": 9, "Fwd thread id": 1)", 2));
  append(events, testing::kernel("late", 1054, 1056, 3, 190, 2));
  const ImportedProfile its = imported_text(testing::kineto_text(events), {.host_gaps = true});
  const auto late = std::ranges::find(its.its.rows, 4'000, &ProfileRow::held_before);
  REQUIRE(late != its.its.rows.end());
  const std::size_t index = static_cast<std::size_t>(late - its.its.rows.begin());
  CHECK(its.its.trace.ops[index - 1].kind == OpKind::host);
  CHECK(its.its.trace.ops[index - 1].duration->si() * 1e9 == doctest::Approx(4'000));
}

TEST_CASE("sizes of collectives that only their ranges have are the trace's") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  for (std::string& event : events) {
    if (event.find("record_param_comms") == std::string::npos) continue;
    event = host_event("cpu_op", "record_param_comms", 1040, 4,
                       R"("Input Dims": [[], []], "Input type": ["TensorList", "Scalar"])", 2);
  }
  events.push_back(host_event("user_annotation", "nccl:all_reduce", 1040.5, 3,
                              R"("Input Dims": [[68]], "Input type": ["float"])", 2));
  const ImportedProfile its = imported_text(testing::kineto_text(events));
  CHECK(its.its.collectives == 1);
  REQUIRE(its.its.sent.size() == 1);
  CHECK(its.its.sent.front().size.si() == 272);
  CHECK(its.its.sent.front().time == 15'000);
  const ProfileFigures figures = figures_of(its.profile, its.work);
  REQUIRE(figures.collectives.size() == 1);
  CHECK(figures.collectives.begin()->second.unsized == 1);  // as other tools count
}

TEST_CASE("of a file that is cut off only steps with all of their work are used") {
  // kernels stand behind all events of the host, so that the end of the file lacks those of several steps
  std::vector<std::string> host;
  std::vector<std::string> work;
  for (int i = 0; i < 4; ++i) {
    for (const std::string& event : testing::step_of_two_layers(i, 1000 + 100.0 * i, 100 * (i + 1)))
      (event.find("\"device\"") == std::string::npos ? host : work).push_back(event);
  }
  host.push_back(host_event("cuda_runtime", "cudaEventQuery", 1050, 1, "\"correlation\": 999"));
  const auto text = [&](std::size_t kept) {
    std::vector<std::string> events = host;
    append(events, {work.begin(), work.begin() + static_cast<std::ptrdiff_t>(kept)});
    std::string all = testing::kineto_text(events);
    all.resize(all.find("\n  ],\n  \"traceName\""));
    return all;
  };
  const std::size_t each = work.size() / 4;
  const auto used = [&](std::size_t kept) {
    return imported_text(text(kept), {}, {.allow_truncated = true}).its;
  };
  CHECK(used(4 * each).steps == std::vector<int>{0, 1, 2});
  const ImportedTrace two = used(3 * each - 2);
  CHECK(two.steps == std::vector<int>{0, 1});
  CHECK(two.warnings.front() == "the file is cut off: its last step is left out");
  const ImportedTrace one = used(2 * each + 1);
  CHECK(one.steps == std::vector<int>{0, 1});
  // what is missing may be of any step
  std::swap(work[1], work[3 * each + 2]);
  const ImportedTrace other = used(3 * each + 1);
  CHECK(other.steps == std::vector<int>{1, 2});
  CHECK(other.warnings.front().find("and 1 step without some of the launches or kernels") !=
        std::string::npos);
  CHECK(errors_of([&] { (void)used(each - 1); }).front().message ==
        "the file is cut off, and has no whole step before that");
}

TEST_CASE(
    "a step that computes unusually long does not stand for the others, though its period is the median") {
  // periods of 100, 120, 140, 160 and 180 us; the third step has a kernel of 30 us more
  std::vector<std::string> events;
  double at = 1000;
  for (int i = 0; i < 6; ++i) {
    auto one = testing::step_of_two_layers(i, at, 100 * (i + 1));
    if (i == 2) {
      for (std::string& event : one) {
        const std::string usual = "\"dur\": 4.000,\n    \"args\": {\n      \"device\"";
        if (const auto found = event.find(usual); found != std::string::npos)
          event.replace(found + 7, 1, "34");
      }
    }
    append(events, one);
    at += 100 + 20.0 * i;
  }
  const ImportedProfile its = imported_text(testing::kineto_text(events));
  CHECK(its.its.parts.computing == 44'000);
  CHECK(its.its.parts.period != 140'000);
  CHECK(its.its.steps.size() == 6);
}
