#pragma once
// Plans of layouts whose collectives take given times, so that steps have closed forms.

#include "run/step.hpp"
#include "schedule/layout_plan.hpp"

#include <functional>

namespace trainyard::testing {

/// Gives every collective of a plan a time, by what it is.
inline void set_times(StepPlan& plan, const std::function<Seconds(const Collective&)>& time) {
  for (Collective& collective : plan.graph.collectives) {
    collective.overhead = time(collective);
    collective.phases.clear();
  }
}

/// The kernels of a step of the only class.
inline Seconds kernel_time(const ResolvedExperiment& resolved, const StepPlan& plan) {
  const RankClass& one = resolved.classes.front();
  Seconds sum;
  for (std::size_t op = 0; op < one.trace.ops.size(); ++op)
    sum += runs_of(one, static_cast<int>(op), resolved.layout->micro_batches) *
           plan.op_times.front()[op].duration;
  return sum;
}

}  // namespace trainyard::testing
