#include "plan/layout_judge.hpp"

#include "experiment/lay_out.hpp"
#include "run/energy.hpp"
#include "run/memory_verdict.hpp"

#include <utility>

namespace trainyard {

LayoutJudge::LayoutJudge(ResolvedExperiment base, double headroom)
    : trial_(std::move(base)), model_(*trial_.model), headroom_(headroom) {
  // The slowest of the GPUs that wait for each other depends on the layout: at least the mean one.
  trial_.stack.slowest_gpu = 1;
}

LayoutVerdict LayoutJudge::judge(const PlanLayout& layout) {
  try {
    lay_out(trial_, model_, layout.parallelism, layout.micro_batch, layout.micro_batches);
    const MemoryReport memory = fullest(memory_reports(trial_));
    if (!memory.fits || memory.peak > (1 - headroom_) * memory.available)
      return {.fate = LayoutFate::too_large};
    const StepBound bound = step_bound(trial_);
    return {.time = bound.time, .energy = energy_of(bound)};
  } catch (const InputError& error) {
    return {.fate = LayoutFate::impossible, .reason = error.diagnostics().front().message};
  }
}

std::optional<Joules> LayoutJudge::energy_of(const StepBound& bound) const {
  if (energy_unknown(trial_.platform, trial_.gpu, trial_.classes.front().trace)) return std::nullopt;
  const double ranks = trial_.cluster->ranks();
  const Joules of_nodes = static_cast<double>(trial_.cluster->nodes) *
                          node_overhead(trial_.platform, trial_.gpu)->value * bound.time;
  return of_nodes +
         gpu_energy({.matrix = bound.matrix, .vector = bound.vector}, ranks * bound.time, trial_.gpu);
}

}  // namespace trainyard
