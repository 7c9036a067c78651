#include "run/calibrated_on.hpp"

#include <algorithm>

namespace trainyard {

std::vector<std::string> calibrated_on(const ResolvedExperiment& resolved) {
  std::vector<std::string> runs;
  const auto is_given = [](const Op& op) { return op.duration.has_value(); };
  if (std::ranges::all_of(resolved.classes,
                          [&](const RankClass& one) { return std::ranges::all_of(one.trace.ops, is_given); }))
    return runs;
  const auto add = [&](Provenance provenance, const std::string& source) {
    const bool is_fitted = provenance == Provenance::fitted || provenance == Provenance::measured;
    if (is_fitted && std::ranges::find(runs, source) == runs.end()) runs.push_back(source);
  };
  add(resolved.stack.compute_scale.provenance, resolved.stack.compute_scale.source);
  const Stack& stack = resolved.stack;
  for (const Sourced<Seconds>* time : {&stack.op_overhead, &stack.step_overhead})
    add(time->provenance, time->source);
  if (resolved.cluster->ranks() == 1) return runs;
  for (const Sourced<Seconds>* time :
       {&stack.step_overhead_per_gpu, &stack.micro_batch_overhead, &stack.collective_overhead})
    add(time->provenance, time->source);
  if (!stack.scalar_rings || resolved.cluster->nodes == 1) return runs;
  for (const Sourced<Seconds>* time : {&stack.scalar_rings->hop, &stack.scalar_rings->node_hop})
    add(time->provenance, time->source);
  return runs;
}

}  // namespace trainyard
