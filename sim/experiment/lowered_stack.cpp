#include "experiment/lowered_stack.hpp"

#include "experiment/layout_needs.hpp"
#include "lowering/typed_layers.hpp"
#include "strategy/layout_refusal.hpp"

#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>

namespace trainyard {

void require_lowered_update(const ResolvedExperiment& resolved) {
  const OptimizerKernels kernels = resolved.stack.optimizer_kernels;
  const Optimizer optimizer = resolved.settings.optimizer;
  if (rules_of(*resolved.lowering, optimizer, kernels) != nullptr) return;
  std::set<std::string_view> known;
  for (const OptimizerRules& one : resolved.lowering->optimizers) {
    if (one.kernels != kernels) continue;
    for (const Optimizer supported : one.optimizers) known.insert(config::name_of(supported));
  }
  throw InputError(fmt::format("{} has no rules for the optimizer {} in kernels '{}'",
                               resolved.lowering->name, config::name_of(optimizer), config::name_of(kernels)),
                   known.empty() ? "another stack"
                                 : fmt::format("optimizer: {}, or another stack", fmt::join(known, " or ")));
}

void check_lowered_layout(ResolvedExperiment& resolved) {
  Parallelism parallelism = *resolved.settings.parallelism;
  if (parallelism.schedule && traits(*parallelism.schedule).splits_backward)
    refuse_layout("schedule", "only stacks with runtime: fused split the backward pass",
                  "schedule: 1f1b, or a stack like megatron_lm");
  if (!parallelism.layers.empty())
    refuse_layout("layers", "only with stacks with runtime: fused replicas divide layers",
                  "stack: pytorch_ddp");
  if (parallelism.recompute_layers || parallelism.recompute_every)
    refuse_layout(parallelism.recompute_layers ? "recompute_layers" : "recompute_every",
                  "only stacks with runtime: fused can recompute some of the blocks",
                  "leave it out, or a stack like megatron_lm");
  const Recompute recompute = std::exchange(parallelism.recompute, Recompute::none);
  const bool is_whole = recompute == Recompute::none || recompute == Recompute::full;
  if (says_nothing(parallelism) && is_whole) {
    resolved.recomputes = recompute == Recompute::full;
    resolved.settings.parallelism.reset();
  } else if (resolved.stack.runtime == Runtime::cuda_graph) {
    throw InputError("ranks that share a model cannot launch their passes as CUDA graphs here",
                     "runtime: compiled or eager");
  }
}

LoweredStep lowered_step(const Stack& stack, int batch, Precision precision, Optimizer optimizer,
                         double host_times) {
  return {.batch = batch,
          .precision = precision,
          .optimizer = optimizer,
          .optimizer_kernels = stack.optimizer_kernels,
          .layout = stack.layout,
          .runtime = stack.runtime,
          .scaling =
              precision == Precision::mxfp8 ? Scaling::block : stack.fp8_scaling.value_or(Scaling::delayed),
          .host_times = host_times,
          .sums = stack.fused_accumulation ? 2 * size_of(stack.gradient_dtype, precision) : Bytes()};
}

StepLaunches launches_of_step(const ResolvedExperiment& resolved, const RankClass& one) {
  const int micro_batches = resolved.layout ? resolved.layout->micro_batches : 1;
  StepLaunches launches{.host = one.trace.host.between_steps};
  for (std::size_t i = 0; i < one.trace.ops.size(); ++i) {
    const int runs = runs_of(one, static_cast<int>(i), micro_batches);
    launches.kernels += runs * one.trace.ops[i].launches;
    launches.host += runs * one.trace.ops[i].host;
  }
  return launches;
}

}  // namespace trainyard
