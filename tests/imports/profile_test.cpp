// A profile as steps, passes, rows and a trace.

#include "errors_of.hpp"
#include "imports/intervals.hpp"
#include "imports/kineto_text.hpp"
#include "imports/op_names.hpp"
#include "imports/op_shapes.hpp"
#include "imports/profile_figures.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_kineto.hpp"
#include "workload/trace_csv.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;
using testing::ProfileFile;

namespace {

struct Imported {
  Profile profile;
  ProfileWork work;
  ImportedTrace trace;
};

Imported import(const std::string& text, const ImportOptions& options = {}) {
  Profile profile = read_kineto(ProfileFile(text).path());
  ProfileWork work = join_launches(profile, options.step_range);
  ImportedTrace trace = trace_of(profile, work, options);
  return {std::move(profile), std::move(work), std::move(trace)};
}

const Op* find(const Trace& trace, Phase phase, std::string_view layer) {
  for (const Op& op : trace.ops) {
    if (op.phase == phase && op.layer == layer) return &op;
  }
  return nullptr;
}

double ns(const Op* op) {
  REQUIRE(op != nullptr);
  return op->duration->si() * 1e9;
}

}  // namespace

TEST_CASE("kernels have the pass, the step and the operator of their launches") {
  const Imported its = import(testing::three_steps());
  REQUIRE(its.work.steps.size() == 3);
  CHECK(its.work.steps[0].number == 3);
  const ProfileFigures figures = figures_of(its.profile, its.work, 1);
  CHECK(figures.compute_kernels == 5);
  CHECK(figures.communication_kernels == 1);
  CHECK(figures.kernels_of_phase[static_cast<std::size_t>(WorkPhase::rest)] == 2);
  CHECK(figures.kernels_of_phase[static_cast<std::size_t>(WorkPhase::backward)] == 2);
  CHECK(figures.kernels_of_phase[static_cast<std::size_t>(WorkPhase::optimizer)] == 1);
  CHECK(figures.compute_time == 44'000);
  CHECK(figures.busy_compute == 44'000);
  CHECK(figures.busy == 59'000);
  CHECK(figures.exposed_communication == 15'000);
  CHECK(figures.collectives.at("allreduce").bytes == 272);
  CHECK(figures.gradients == 2);
  CHECK(figures.gradient_values == 68);
}

TEST_CASE("a step is a trace: layers, kinds, shapes, durations, gradients and collectives") {
  const Imported its = import(testing::three_steps());
  const Trace& trace = its.trace.trace;
  REQUIRE(trace.ops.size() == 5);
  CHECK(trace.batch_per_gpu == 0);  // a matrix has tokens or samples
  CHECK(its.trace.steps == std::vector<int>{3, 4, 5});
  const Op* const linear = find(trace, Phase::forward, "linear.0");
  CHECK(ns(linear) == doctest::Approx(20'000));
  CHECK(linear->kind == OpKind::gemm);
  CHECK(linear->shape == Shape{GemmShape{.m = 8, .n = 4, .k = 16, .transpose_b = true}});
  CHECK(linear->flops.si() == 2 * 8 * 4 * 16);
  CHECK(ns(find(trace, Phase::forward, "relu.0")) == doctest::Approx(5'000));
  CHECK(ns(find(trace, Phase::backward, "relu.0")) == doctest::Approx(5'000));  // by its sequence number
  const Op* const backward = find(trace, Phase::backward, "linear.0");
  CHECK(ns(backward) == doctest::Approx(10'000));
  REQUIRE(backward->gradients.size() == 2);
  CHECK(backward->gradients[0].elements == 64);
  CHECK(backward->gradients[1].elements == 4);
  REQUIRE(backward->communications.size() == 1);
  CHECK(backward->communications[0].operation == Operation::all_reduce);
  CHECK(backward->communications[0].size.si() == 272);
  CHECK_FALSE(backward->communications[0].waits);  // the optimizer
  CHECK(find(trace, Phase::optimizer, "optimizer")->kind == OpKind::optimizer);
  CHECK(read_trace("t.csv", write_trace(trace)) == trace);
}

TEST_CASE("rows, exposed communication, host copies and idle time add up to the step") {
  for (const bool with_gaps : {false, true}) {
    const Imported its = import(testing::three_steps(), {.host_gaps = with_gaps});
    const StepRows& parts = its.trace.parts;
    CHECK(parts.period == 100'000);
    CHECK(parts.computing == 44'000);
    CHECK(parts.exposed == 15'000);
    CHECK(parts.idle == 41'000);
    CHECK(parts.computing + parts.exposed + parts.copying + parts.idle == parts.period);
    double sum = 0;
    for (const Op& op : its.trace.trace.ops) sum += op.duration->si() * 1e9;
    CHECK(sum == doctest::Approx(with_gaps ? 85'000 : 44'000));
  }
}

TEST_CASE("collectives can be left to the stack") {
  const Imported its = import(testing::three_steps(), {.collectives = false});
  for (const Op& op : its.trace.trace.ops) CHECK(op.communications.empty());
  CHECK(find(its.trace.trace, Phase::backward, "linear.0")->gradients.size() == 2);
}

TEST_CASE("work outside of steps and without a launch is counted") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  const auto late = testing::kernel("late", 2000, 2001, 7, 900);
  events.insert(events.end(), late.begin(), late.end());
  events.push_back(testing::gpu_event("kernel", "orphan", 10, 3, 901));
  const Imported its = import(testing::kineto_text(events));
  REQUIRE(its.trace.left_out.size() == 2);
  CHECK(its.trace.left_out[0].count == 1);
  CHECK(its.trace.left_out[0].time == 7'000);
  CHECK(its.trace.left_out[1].count == 1);
  CHECK(its.trace.left_out[1].time == 3'000);
}

TEST_CASE("without steps and updates the whole profile is one, or ranges of a name are steps") {
  std::vector<std::string> events;
  for (int i = 0; i < 2; ++i) {
    auto one = testing::step_of_two_layers(i, 1000 + 100.0 * i, 100 * (i + 1));
    one.front() = testing::host_event("user_annotation", "iteration", 1000 + 100.0 * i, 100);
    events.insert(events.end(), one.begin(), one.end());
  }
  std::vector<std::string> without_updates = events;
  std::erase_if(without_updates, [](const std::string& event) {
    return event.find("Optimizer.step") != std::string::npos ||
           event.find("AccumulateGrad") != std::string::npos;
  });
  const Imported whole = import(testing::kineto_text(without_updates));
  CHECK(whole.trace.shown_step == -1);
  CHECK(whole.trace.trace.ops.size() == 10);
  REQUIRE_FALSE(whole.trace.warnings.empty());
  CHECK(whole.trace.warnings.front().find("no steps") != std::string::npos);
  const Imported steps = import(testing::kineto_text(events), {.step_range = "iteration"});
  CHECK(steps.trace.steps == std::vector<int>{0, 1});
  CHECK(steps.trace.trace.ops.size() == 5);
}

TEST_CASE("a range that is not there is refused with those that are") {
  const auto errors = errors_of([] { (void)import(testing::three_steps(), {.step_range = "epoch"}); });
  REQUIRE_FALSE(errors.empty());
  CHECK(errors.front().message == "no range has the name 'epoch'");
  CHECK(errors.front().hint.find("'Optimizer.step#SGD.step'") != std::string::npos);
}

TEST_CASE("shapes of convolutions, their gradients and embeddings are those of their operands") {
  Profile profile;
  const auto shape = [&](std::string_view name, std::string_view dims, std::string_view values, OpKind kind) {
    profile.operands = {
        {.dims = profile.texts.id(dims), .types = TextPool::none, .values = profile.texts.id(values)}};
    ProfileEvent op{.kind = EventKind::op};
    op.name = profile.texts.id(name);
    op.operands = 0;
    return shape_of(profile, op, kind);
  };
  const ConvShape strided{.batch = 8,
                          .in_channels = 64,
                          .height = 56,
                          .width = 56,
                          .out_channels = 128,
                          .kernel_h = 3,
                          .kernel_w = 3,
                          .stride = 2,
                          .pad_h = 1,
                          .pad_w = 1,
                          .groups = 1};
  constexpr std::string_view dims = "[[8,64,56,56],[128,64,3,3],[],[],[],[],[]]";
  CHECK(shape("aten::conv2d", dims, R"(["","","","[2, 2]","[1, 1]","[1, 1]","1"])", OpKind::conv_forward) ==
        Shape{strided});
  CHECK_FALSE(
      shape("aten::conv2d", dims, R"(["","","","[2, 2]","[1, 1]","[2, 2]","1"])", OpKind::conv_forward));
  CHECK(shape("aten::convolution_backward",
              "[[8,128,28,28],[8,64,56,56],[128,64,3,3],[],[],[],[],[],[],[],[]]",
              R"(["","","","[0]","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1","[True, True, False]"])",
              OpKind::conv_dgrad) == Shape{strided});
  CHECK_FALSE(shape("aten::convolution", dims, R"(["","","","[2, 2]","[1, 1]","[1, 1]","True","[0, 0]","1"])",
                    OpKind::conv_forward));
  CHECK(shape("aten::embedding", "[[30522,512],[4,141],[],[],[]]", "[]", OpKind::embedding) ==
        Shape{VectorShape{.elements = 4 * 141 * 512}});
  CHECK_FALSE(
      shape("aten::relu", std::string(200'000, '[') + std::string(200'000, ']'), "[]", OpKind::elementwise));
}

TEST_CASE("steps that overlap or are the same are refused") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  events.push_back(testing::host_event("user_annotation", "ProfilerStep#4", 1050, 100));
  CHECK(errors_of([&] { (void)import(testing::kineto_text(events)); }).front().message ==
        "steps 3 and 4 overlap");
  events.back() = testing::host_event("user_annotation", "ProfilerStep#3", 1200, 100);
  CHECK(errors_of([&] { (void)import(testing::kineto_text(events)); }).front().message ==
        "steps 3 and 3 are the same");
}

TEST_CASE("two streams: time that an earlier kernel covers counts once") {
  std::vector<std::string> events{testing::host_event("user_annotation", "ProfilerStep#0", 0, 100)};
  int correlation = 1;
  for (const auto& [name, start, duration, stream] :
       {std::tuple("a", 10.0, 20.0, 7), std::tuple("b", 15.0, 5.0, 8), std::tuple("c", 25.0, 20.0, 8)}) {
    const auto one = testing::kernel(name, 1.0 + correlation, start, duration, correlation, 1, stream);
    events.insert(events.end(), one.begin(), one.end());
    ++correlation;
  }
  const Imported its = import(testing::kineto_text(events));
  CHECK(ns(find(its.trace.trace, Phase::forward, "a.0")) == doctest::Approx(20'000));
  CHECK(ns(find(its.trace.trace, Phase::forward, "b.0")) == doctest::Approx(0));
  CHECK(ns(find(its.trace.trace, Phase::forward, "c.0")) == doctest::Approx(15'000));
  CHECK(its.trace.parts.computing == 35'000);
}

TEST_CASE("names of operators, kernels and collectives") {
  CHECK(kind_of_operator("aten::conv2d", false) == OpKind::conv_forward);
  CHECK(kind_of_operator("aten::addmm", true) == OpKind::gemm);
  CHECK(kind_of_operator("aten::native_batch_norm_backward", true) == OpKind::batch_norm_backward);
  CHECK(kind_of_operator("aten::add_", false) == OpKind::elementwise);
  CHECK(kind_of_operator("aten::adaptive_avg_pool2d", false) == OpKind::pooling);
  CHECK(kind_of_operator("aten::topk", false) == OpKind::measured);
  CHECK(kind_of_operator("mylib::conv2d", false) == OpKind::measured);
  CHECK(pass_of_kernel("sm80_xmma_dgrad_implicit_gemm") == OpKind::conv_dgrad);
  CHECK(pass_of_kernel("igemm_wrw_gtcx3_nhwc") == OpKind::conv_wgrad);
  CHECK_FALSE(pass_of_kernel("void cudnn::ops::nchwToNhwcKernel<float>"));
  CHECK(pass_of_kernel("nvjet_sm90_tst_128x96_64x7_2x1_v_bz_NNT") == OpKind::conv_dgrad);
  CHECK(pass_of_kernel("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_splitK_NTT") == OpKind::conv_wgrad);
  CHECK_FALSE(pass_of_kernel("nvjet_sm90_tst_128x96_64x7_2x1_v_bz_TNT"));
  CHECK(operation_named("_allgather_base") == Operation::all_gather);
  CHECK(operation_named("all_to_allv") == Operation::all_to_all);
  CHECK(operation_named("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)") == Operation::reduce_scatter);
  CHECK(operation_named("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)") == Operation::all_reduce);
  CHECK_FALSE(operation_named("ncclDevKernel_SendRecv(x)"));
  CHECK(plain_name("autograd::engine::evaluate_function: AddmmBackward0") == "Addmm");
  CHECK(plain_name("aten::conv2d") == "conv2d");
}

TEST_CASE("property: merged intervals do not touch, keep their union, and share what they share") {
  CHECK(rc::check([] {
    const auto make = [] {
      std::vector<Interval> intervals;
      for (const auto& [start, length] : *rc::gen::container<std::vector<std::pair<int, int>>>(
               rc::gen::pair(rc::gen::inRange(0, 60), rc::gen::inRange(0, 9)))) {
        intervals.push_back({start, start + length});
      }
      return intervals;
    };
    const auto covers = [](const std::vector<Interval>& intervals, int at) {
      for (const Interval& one : intervals) {
        if (one.start <= at && at < one.end) return true;
      }
      return false;
    };
    const std::vector<Interval> a = make();
    const std::vector<Interval> b = make();
    const std::vector<Interval> x = merged(a);
    const std::vector<Interval> y = merged(b);
    std::int64_t in_a = 0;
    std::int64_t in_both = 0;
    for (int at = 0; at < 80; ++at) {
      in_a += covers(a, at) ? 1 : 0;
      in_both += covers(a, at) && covers(b, at) ? 1 : 0;
    }
    RC_ASSERT(total(x) == in_a);
    RC_ASSERT(common(x, y) == in_both);
    for (std::size_t i = 1; i < x.size(); ++i) RC_ASSERT(x[i - 1].end < x[i].start);
  }));
}
