// A layer that draws its outputs, from YAML to a step.

#include "engine/makespan.hpp"
#include "run/timed_plan.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// ResNet-50 on 16 GPUs, whose last layer has 63 columns on each.
ResolvedExperiment resnet(const std::string& rules) {
  return shipped_experiment("resnet50_dgx2", {{"parallelism.layers", rules},
                                              {"software", "ideal"},
                                              {"memory", "ignore"},
                                              {"stack.overlap_slows", "false"}});
}

std::vector<std::string> ops_of_fc(const ResolvedExperiment& resolved) {
  std::vector<std::string> names;
  for (const Op& op : resolved.classes.front().trace.ops) {
    if (op.layer.starts_with("fc")) names.push_back(op.layer);
  }
  return names;
}

}  // namespace

TEST_CASE("ops of a drawn layer run in order, around products of half the outputs") {
  const ResolvedExperiment drawn = resnet("[{match: fc, sample: 0.5}]");
  CHECK(ops_of_fc(drawn) == std::vector<std::string>{"fc.draw", "fc.gather", "fc", "fc", "fc", "fc.scatter"});
  const ResolvedExperiment whole = resnet("[{match: fc}]");
  CHECK(ops_of_fc(whole) == std::vector<std::string>{"fc", "fc", "fc"});
  const auto product = [](const ResolvedExperiment& resolved) {
    return std::ranges::find(resolved.classes.front().trace.ops, "fc", &Op::layer)->flops;
  };
  CHECK(product(drawn) / product(whole) == doctest::Approx(31.0 / 63));
}

TEST_CASE("kernels wait for the inputs, the labels and the values of the loss of a drawn layer") {
  const ResolvedExperiment resolved = resnet("[{match: fc, sample: 0.5}]");
  StepPlan plan = plan_layout_step(resolved);
  constexpr Seconds each{1e-3};
  const auto is_of_forward = [](const Collective& one) {
    return one.label.of_layers && one.label.purpose == "activations";
  };
  set_times(plan, [&](const Collective& one) { return is_of_forward(one) ? each : Seconds{}; });
  const auto exchanges = std::ranges::count_if(plan.graph.collectives, is_of_forward);
  CHECK(exchanges == 2 + 3);
  CHECK(closed_makespan(plan.graph).si() ==
        doctest::Approx((kernel_time(resolved, plan) + static_cast<double>(exchanges) * each).si())
            .epsilon(1e-12));
}
