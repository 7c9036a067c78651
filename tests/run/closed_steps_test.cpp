// The quick ways to a step's time, against the replay of the whole step.

#include "run/closed_steps.hpp"

#include "engine/engine.hpp"
#include "engine/makespan.hpp"
#include "layout_cases.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "schedule/layout_plan.hpp"
#include "schedule/step_variants.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

Seconds replayed(const TaskGraph& graph, const StepVariant& variant) {
  return run(graph, {.fidelity = Fidelity::closed, .variant = variant, .recorded = {}}).makespan;
}

}  // namespace

TEST_CASE("the longest path of a layout is its replay's makespan, to the bit") {
  for (const LayoutCase& one : layout_cases()) {
    const StepPlan plan = plan_layout_step(resolved_case(one));
    INFO(named(one));
    for (const StepVariant& variant : {undisturbed({}), ideal(plan), undisturbed(without_network(plan))}) {
      const std::optional<Seconds> fixed = engine::fixed_makespan(plan.graph, variant);
      REQUIRE(fixed);
      CHECK(*fixed == replayed(plan.graph, variant));
    }
    for (const StepVariant& variant : {StepVariant{}, without_network(plan)})
      CHECK(closed_makespan(plan.graph, variant) == replayed(plan.graph, variant));
  }
}

TEST_CASE("steps of one plan with other times of its kernels are those of plans of their own, to the bit") {
  for (const LayoutCase& one : layout_cases()) {
    ResolvedExperiment resolved = resolved_case(one);
    INFO(named(one));
    ClosedSteps steps(resolved);
    const double scale = resolved.stack.compute_scale.value;
    for (const double factor : {1.0, 1.7, 0.3}) {
      resolved.stack.compute_scale.value = factor * scale;
      CHECK(steps.pace().time == closed_pace(resolved).time);
      if (factor == 1.7) CHECK(steps.checked_pace().time == checked_closed_pace(resolved).time);
      CHECK(steps.pace().time == simulate(resolved, {.fidelity = Fidelity::closed}).pace.time);
    }
    resolved.stack.slowest_gpu = 1.1;
    CHECK(steps.pace().time == closed_pace(resolved).time);
    resolved.stack.slowdown = OpSlowdown{};
    CHECK(steps.pace().time == closed_pace(resolved).time);
  }
}

TEST_CASE("a step in closed form is refused for its memory in the words of a run") {
  const ResolvedExperiment resolved = small_layout(
      "dgx_a100", 1, {{"batch_per_gpu", "4096"}, {"parallelism.tensor", "2"}, {"memory", "check"}});
  std::string of_run;
  try {
    simulate(resolved, {.fidelity = Fidelity::closed});
  } catch (const OutOfMemory& error) {
    of_run = error.what();
  }
  REQUIRE(!of_run.empty());
  CHECK_THROWS_WITH_AS(closed_pace(resolved), of_run.c_str(), OutOfMemory);
}
