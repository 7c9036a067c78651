#include "experiment/stack_rules.hpp"

#include "strategy/layout_refusal.hpp"
#include "strategy/stack_ops.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

void require_usable(const Stack& stack, const Experiment& experiment) {
  const Sync& sync = experiment.sync;
  const bool reduces_each = stack.reduce_each_micro_batch && experiment.accumulation > 1;
  if (reduces_each && has_servers(sync)) {
    throw InputError(
        "parameter servers receive gradients once per step, but the stack reduces them for every micro-batch",
        "reduce_each_micro_batch: false in the stack");
  }
  if (reduces_each && traits(sync.update).averages) {
    throw InputError(
        fmt::format("{} averages parameters, but the stack reduces the gradients of every micro-batch",
                    config::name_of(sync.update)),
        "reduce_each_micro_batch: false in the stack");
  }
  if (stack.host_reduction && (sync.kind != SyncKind::all_reduce || experiment.traces ||
                               (experiment.parallelism && !changes_nothing(*experiment.parallelism)))) {
    throw InputError("host_reduction of the stack is for all-reduces of replicas",
                     "kind: all_reduce without parallelism, or another stack");
  }
  if (stack.recompute_stops_early && stack.lowering) {
    throw InputError("stacks with a lowering compute blocks again to their end",
                     "recompute_stops_early: false in the stack");
  }
  if (!has_servers(sync)) return;
  for (const GradientPass& pass : stack.gradient_work) {
    if (pass.ranks == PassRanks::many || pass.when == PassTime::before ||
        !is_done(pass, experiment.precision)) {
      continue;
    }
    throw InputError(
        fmt::format("'{}' works on reduced gradients, which parameter servers do not send back", pass.name),
        "when: before in the stack's gradient_work, or kind: all_reduce");
  }
}

std::optional<Diagnostic> buffered_gradients_warning(const Stack& stack, const Parallelism& parallelism,
                                                     double parameters, Precision precision,
                                                     int micro_batches) {
  if (parallelism.shard != Sharded::gradients || !stack.gradient_buffers) return std::nullopt;
  const Bytes all = parameters * size_of(stack.gradient_dtype, precision);
  // one bucket is filled while the one before it is reduced
  constexpr double buckets_in_use = 2;
  if (buckets_in_use * largest_bucket(stack) < all) return std::nullopt;
  std::string message = fmt::format(
      "'gradients' saves no memory: the buffers of {} hold all {} of a rank's gradients until they are "
      "reduced",
      stack.name, gpu_memory(all));
  if (micro_batches > 1)
    message += fmt::format(", which happens after each of {} micro-batches instead of once", micro_batches);
  return about_layout("shard", std::move(message),
                      "shard: optimizer, smaller buckets (bucket_cap), or a stack without gradient_buffers",
                      Severity::warning);
}

std::vector<std::string> unused_with_servers(const Stack& stack) {
  std::vector<std::string> notes;
  if (stack.fusion || stack.bucket_first || stack.bucket_cap)
    notes.emplace_back("the stack's buckets and fusion are not used: servers receive each tensor separately");
  if (has_passes_of_many(stack) || stack.collective_overhead.value > Seconds()) {
    notes.emplace_back(
        "the stack's collective_overhead and its passes with ranks: many are not used: there are no "
        "collectives");
  }
  if (stack.broadcast_buffers)
    notes.emplace_back("the stack's broadcast_buffers is not used: workers receive parameters only");
  return notes;
}

bool has_passes_of_many(const Stack& stack) {
  return std::ranges::any_of(stack.gradient_work,
                             [](const GradientPass& pass) { return pass.ranks == PassRanks::many; });
}

}  // namespace trainyard
