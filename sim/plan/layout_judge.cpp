#include "plan/layout_judge.hpp"

#include "experiment/lay_out.hpp"
#include "experiment/prediction_error.hpp"
#include "run/energy.hpp"
#include "run/memory_verdict.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

namespace trainyard {

namespace {

/// Whether two layouts differ in nothing but sharded state and micro-batches.
bool are_of_one_family(const PlanLayout& a, const PlanLayout& b) {
  Parallelism other = b.parallelism;
  other.shard = a.parallelism.shard;
  return a.parallelism == other;
}

}  // namespace

LayoutJudge::LayoutJudge(ResolvedExperiment base, double headroom, std::optional<ErrorTables> errors)
    : trial_(std::move(base)),
      model_(*trial_.model),
      headroom_(headroom),
      errors_(std::move(errors)),
      buffers_(communication_buffers(trial_)),
      in_nodes_(trial_.network, trial_.library) {
  // The slowest of the GPUs that wait for each other depends on the layout: at least the mean one.
  trial_.stack.slowest_gpu = 1;
}

LayoutVerdict LayoutJudge::judge(const PlanLayout& layout) {
  is_larger_hopeless_ = false;
  try {
    lay_out_as(layout);
    return judge_laid_out();
  } catch (const InputError& error) {
    return {.fate = LayoutFate::impossible, .reason = error.diagnostics().front().message};
  }
}

std::vector<LayoutVerdict> LayoutJudge::judge(std::span<const PlanLayout> layouts) {
  std::vector<LayoutVerdict> verdicts(layouts.size());
  std::size_t first = 0;
  while (first < layouts.size()) {
    std::size_t end = first + 1;
    while (end < layouts.size() && are_of_one_family(layouts[first], layouts[end])) ++end;
    judge_family(layouts.subspan(first, end - first), std::span(verdicts).subspan(first, end - first));
    first = end;
  }
  return verdicts;
}

void LayoutJudge::judge_family(std::span<const PlanLayout> family, std::span<LayoutVerdict> verdicts) {
  std::vector<std::size_t> order(family.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return family[i].micro_batch; });
  std::set<Sharded> hopeless;
  for (const std::size_t i : order) {
    const Sharded shard = family[i].parallelism.shard;
    if (hopeless.contains(shard)) {
      verdicts[i] = {.fate = LayoutFate::too_large};
      continue;
    }
    verdicts[i] = judge(family[i]);
    if (is_larger_hopeless_) hopeless.insert(shard);
  }
}

void LayoutJudge::lay_out_as(const PlanLayout& layout) {
  if (laid_out_ && are_of_one_family(*laid_out_, layout) && laid_out_->micro_batch == layout.micro_batch &&
      laid_out_->micro_batches == layout.micro_batches) {
    share_state(trial_, updates_, layout.parallelism.shard);
    return;
  }
  laid_out_.reset();
  updates_ = lay_out(trial_, model_, layout.parallelism, layout.micro_batch, layout.micro_batches);
  laid_out_ = layout;
}

LayoutVerdict LayoutJudge::judge_laid_out() {
  const MemoryPeak memory = memory_peak(trial_, buffers_);
  const Bytes allowed = (1 - headroom_) * memory.available;
  if (memory.needed > allowed) {
    is_larger_hopeless_ = memory_of_values(trial_, buffers_) > allowed;
    return {.fate = LayoutFate::too_large};
  }
  const StepBound bound = step_bound(trial_, in_nodes_);
  LayoutVerdict verdict{
      .time = bound.time, .energy = energy_of(bound), .memory = memory.needed / memory.available};
  if (errors_) add_error(verdict);
  return verdict;
}

/// The error as a run of this layout has it: if all ranks are replicas, that is a job without a layout.
void LayoutJudge::add_error(LayoutVerdict& verdict) {
  const bool are_replicas = changes_nothing(trial_.layout->parallelism);
  const bool is_layout = !are_replicas && has_layout_errors(trial_);
  trial_.published_errors = is_layout ? errors_->of_layouts : errors_->of_replicas;
  std::optional<RankLayout> layout = trial_.layout;
  if (are_replicas) trial_.layout.reset();
  const Known<ExpectedError> expected = prediction_error(trial_);
  trial_.layout = std::move(layout);
  if (expected)
    verdict.error = error_spread(*expected);
  else
    verdict.reason = expected.error();
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
