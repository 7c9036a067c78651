// Layers that groups of replicas divide, while other groups hold copies: the collectives of a step.

#include "engine/makespan.hpp"
#include "run/memory_verdict.hpp"
#include "run/timed_plan.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr double fc_parameters = 58'631'144;

/// AlexNet on two nodes of eight GPUs, each with 64 samples.
ResolvedExperiment alexnet_in_groups(const Overrides& layout) {
  return shipped_experiment("bert_large_dgx_a100", joined({{"model", "alexnet"},
                                                           {"nodes", "2"},
                                                           {"stack", "pytorch_ddp"},
                                                           {"software", "ideal"},
                                                           {"precision", "fp32"},
                                                           {"batch_per_gpu", "64"},
                                                           {"accumulation", "1"},
                                                           {"optimizer", "momentum"},
                                                           {"memory", "ignore"},
                                                           {"parallelism.layers", "[{match: \"fc*\"}]"}},
                                                          layout));
}

double bytes_over_axis(const StepPlan& plan, Axis axis, const std::string& purpose) {
  double sum = 0;
  for (const Collective& one : plan.graph.collectives) {
    if (one.label.axis == axis && one.label.purpose == purpose) sum += one.size.si();
  }
  return sum;
}

}  // namespace

TEST_CASE("a group per node exchanges samples inside nodes and gradients of divided layers across them") {
  const StepPlan plan = plan_layout_step(alexnet_in_groups({{"parallelism.layer_group", "8"}}));
  constexpr double samples = 8 * 64;
  CHECK(bytes_over_axis(plan, Axis::layer, "activation gradients") == samples * (9216 + 4096 + 4096) * 4);
  CHECK(bytes_over_axis(plan, Axis::layer_data, "gradients") == fc_parameters / 8 * 4);
  CHECK(bytes_over_axis(plan, Axis::data, "gradients") == 2'469'696.0 * 4);
  for (const Collective& one : plan.graph.collectives) {
    if (one.label.axis == Axis::layer) {
      CHECK(one.group_size == 8);
      CHECK(one.groups == 2);
    } else if (one.label.axis == Axis::layer_data) {
      CHECK(one.group_size == 2);
      CHECK(one.groups == 8);
    }
  }
}

TEST_CASE("one group of all replicas is the usual division, groups of one divide nothing") {
  const std::vector<Op> usual = alexnet_in_groups({}).classes.front().trace.ops;
  CHECK(alexnet_in_groups({{"parallelism.layer_group", "16"}}).classes.front().trace.ops == usual);
  const ResolvedExperiment alone = alexnet_in_groups({{"parallelism.layer_group", "1"}});
  double summed = 0;
  for (const Op& op : alone.classes.front().trace.ops) {
    CHECK(op.communications.empty());
    for (const Gradient& gradient : op.gradients)
      summed += gradient.summed_over == Axis::data ? gradient.elements : 0;
  }
  CHECK(summed == 2'469'696 + fc_parameters);
}

TEST_CASE("groups of one draw outputs all the same, and sum all gradients") {
  const ResolvedExperiment resolved = alexnet_in_groups(
      {{"parallelism.layers", "[{match: fc8, sample: 0.5}]"}, {"parallelism.layer_group", "1"}});
  double summed = 0;
  for (const Op& op : resolved.classes.front().trace.ops) {
    CHECK(op.communications.empty());
    for (const Gradient& gradient : op.gradients)
      summed += gradient.summed_over == Axis::data ? gradient.elements : 0;
  }
  CHECK(summed == 2'469'696 + fc_parameters);
  CHECK(std::ranges::count(resolved.classes.front().trace.ops, "fc8.draw", &Op::layer) == 1);
}

TEST_CASE("groups take turns of their own, and their replicas sum gradients after the last one") {
  const ResolvedExperiment resolved = alexnet_in_groups(
      {{"parallelism.layers", "[{match: \"fc*\", turns: by_slice}]"}, {"parallelism.layer_group", "4"}});
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  CHECK(std::ranges::count(ops, "fc8 #4", &Op::layer) == 3);
  CHECK(std::ranges::count(ops, "fc8 #5", &Op::layer) == 0);
  double summed = 0;
  for (const Op& op : ops) {
    for (const Gradient& gradient : op.gradients) {
      if (gradient.summed_over != Axis::layer_data) continue;
      CHECK(op.layer == "gradient_accumulation #4");
      summed += gradient.elements;
    }
  }
  CHECK(summed == fc_parameters / 4);
  const StepPlan plan = plan_layout_step(resolved);
  CHECK(bytes_over_axis(plan, Axis::layer_data, "gradients") == fc_parameters / 4 * 4);
}

TEST_CASE("replicas of a part divide its optimizer state") {
  const auto state = [](const Overrides& more) {
    const ResolvedExperiment resolved = alexnet_in_groups(joined({{"parallelism.layer_group", "8"}}, more));
    return memory_reports(resolved, true).front().terms.optimizer_state.si();
  };
  constexpr double convolutions = 2'469'696;
  CHECK(state({}) == 4 * (convolutions + fc_parameters / 8));
  CHECK(state({{"parallelism.shard", "optimizer"}}) == 4 * (convolutions / 16 + fc_parameters / 8 / 2));
}

TEST_CASE("layers with turns wait for their gathered parameters, which they first read in a backward pass") {
  const ResolvedExperiment resolved =
      alexnet_in_groups({{"parallelism.layers", "[{match: \"fc*\", turns: by_slice}]"},
                         {"parallelism.layer_group", "8"},
                         {"parallelism.shard", "optimizer"},
                         {"stack.overlap_parameters", "true"},
                         {"stack.overlap_slows", "false"},
                         {"accumulation", "2"}});
  StepPlan plan = plan_layout_step(resolved);
  constexpr Seconds gather{1};
  set_times(plan, [&](const Collective& one) {
    const bool is_of_fc6 = one.label.axis == Axis::layer_data && one.size > Bytes(1e7);
    return is_of_fc6 && one.label.purpose == "parameters" ? gather : Seconds{};
  });
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  Seconds before;  // kernels of the first micro-batch that read no such parameters
  for (std::size_t op = 0; ops[op].layer != "fc6 #1"; ++op) before += plan.op_times.front()[op].duration;
  CHECK(closed_makespan(plan.graph).si() ==
        doctest::Approx((gather + kernel_time(resolved, plan) - before).si()).epsilon(1e-12));
}
