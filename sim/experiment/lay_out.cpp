#include "experiment/lay_out.hpp"

#include "experiment/stack_rules.hpp"
#include "platform/channels.hpp"
#include "platform/host_launch.hpp"
#include "strategy/experts.hpp"
#include "strategy/layout_checks.hpp"
#include "strategy/layout_refusal.hpp"
#include "strategy/recompute.hpp"
#include "strategy/vocabulary.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace trainyard {

namespace {

/// Rate of a copy between the first GPU and its CPU's memory. Throws InputError if there is no path.
Bandwidth host_rate(const Cluster& cluster) {
  Bandwidth rate(std::numeric_limits<double>::infinity());
  std::vector<LinkId> links;
  try {
    append_route(cluster, HostMemory{.node = NodeId{0}, .cpu = 0}, Rank{0}, links);
  } catch (const Unreachable&) {
    throw InputError(fmt::format("the stack copies through host memory, which no link of {} reaches",
                                 cluster.platform.name),
                     "link GPUs to a cpu, or a stack without layer_copies");
  }
  for (const LinkId link : links) rate = std::min(rate, capacity(cluster, link));
  return rate;
}

/// Throws InputError for replicas that servers cannot update rank by rank.
void require_for_servers(const ResolvedExperiment& resolved) {
  const Parallelism& parallelism = *resolved.settings.parallelism;
  if (resolved.stack.servers.node_reduce != NodeReduce::none)
    throw InputError(fmt::format("{} sums the gradients of a node, but its ranks hold different parts",
                                 resolved.stack.name),
                     "servers: {node_reduce: none} in the stack, or leave out 'parallelism'");
  if (resolved.lowering)
    throw InputError(fmt::format("replicas that share a model are not simulated with servers on {}, whose "
                                 "host launches each op",
                                 resolved.stack.name),
                     "a stack with runtime: fused, or kind: all_reduce");
  for (const Layer& layer : resolved.model->layers) {
    if (parallelism.pipeline > 1 && layer.tied_elements > 0)
      refuse_layout("pipeline",
                    fmt::format("layer '{}' shares its weights with another, whose stage may be another one: "
                                "not simulated with servers",
                                layer.name),
                    "pipeline: 1, or kind: all_reduce");
    if (layer.limited.columns > 0 && layer.limited.parts < parallelism.tensor)
      refuse_layout("tensor",
                    fmt::format("layer '{}' has {} heads of keys, which some tensor ranks would share: not "
                                "simulated with servers",
                                layer.name, layer.limited.parts),
                    fmt::format("tensor: at most {}, or kind: all_reduce", layer.limited.parts));
  }
}

}  // namespace

LayoutRequest layout_request(const ResolvedExperiment& resolved, const Parallelism& parallelism) {
  const Experiment& settings = resolved.settings;
  return {.model = *resolved.model,
          .stack = resolved.stack,
          .lowering = resolved.lowering.get(),
          .host_times = host_launch(resolved.platform).value,
          .parallelism = parallelism,
          .ranks = resolved.cluster->ranks(),
          .ranks_per_node = resolved.cluster->gpus_on_node.front(),
          .host_rate = resolved.stack.layer_copies ? host_rate(*resolved.cluster) : Bandwidth(),
          .micro_batch = settings.batch_per_gpu,
          .micro_batches = settings.accumulation,
          .precision = settings.precision,
          .optimizer = settings.optimizer};
}

void lay_out(ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  Model& model = *resolved.model;
  if (has_servers(settings.sync)) require_for_servers(resolved);
  if (const auto vocabulary = pad_vocabulary(model.layers, settings.parallelism->tensor)) {
    resolved.notes.push_back(
        fmt::format("the vocabulary is padded from {} to {} entries, a multiple of 128 x tensor {} "
                    "(Megatron-LM's rule)",
                    vocabulary->entries, vocabulary->padded, settings.parallelism->tensor));
  }
  resolved.recomputes = settings.parallelism->recompute == Recompute::full;
  if (resolved.lowering && settings.parallelism->recompute == Recompute::alternate)
    refuse_layout("recompute", "only stacks with runtime: fused can keep every second product",
                  "recompute: full or selective, or a stack like torchtitan");
  const std::vector<bool> are_recomputed =
      of_recomputed_modules(model.layers, recomputed_modules(*settings.parallelism));
  const bool has_modules = std::ranges::find(are_recomputed, true) != are_recomputed.end();
  const LayoutRequest request = layout_request(resolved, *settings.parallelism);
  LaidOut laid = laid_out(request);
  resolved.layout = std::move(laid.layout);
  resolved.classes = std::move(laid.classes);
  for (const RankClass& one : resolved.classes) {
    std::vector<Diagnostic> few_rows = expert_warnings(one.layers, settings.batch_per_gpu);
    if (few_rows.empty()) continue;
    resolved.warnings.push_back(std::move(few_rows.front()));
    break;
  }
  if (settings.parallelism->recompute == Recompute::selective && !has_modules)
    resolved.notes.emplace_back(
        settings.parallelism->recompute_modules.empty()
            ? "selective recomputation has no effect: fused attention keeps no scores to compute again"
            : "selective recomputation has no effect: the model has none of recompute_modules");
  const std::vector<int>& gpus = resolved.cluster->gpus_on_node;
  for (Diagnostic& warning :
       layout_warnings(request.parallelism, resolved.layout->grid, gpus.front(), settings.accumulation))
    resolved.warnings.push_back(std::move(warning));
  double most = 0;
  for (const RankClass& one : resolved.classes) most = std::max(most, totals(one.layers).parameters);
  if (auto warning = buffered_gradients_warning(resolved.stack, *settings.parallelism, most,
                                                settings.precision, settings.accumulation))
    resolved.warnings.push_back(*std::move(warning));
}

std::vector<Op> lay_out(ResolvedExperiment& resolved, const Model& model, const Parallelism& parallelism,
                        int micro_batch, int micro_batches) {
  resolved.model = model;
  pad_vocabulary(resolved.model->layers, parallelism.tensor);
  resolved.settings.batch_per_gpu = micro_batch;
  resolved.settings.accumulation = micro_batches;
  resolved.recomputes = parallelism.recompute == Recompute::full;
  LayoutRequest request = layout_request(resolved, parallelism);
  request.merge_stages = true;
  LaidOut laid = laid_out(request);
  resolved.layout = std::move(laid.layout);
  resolved.classes = std::move(laid.classes);
  return std::move(laid.updates);
}

void share_state(ResolvedExperiment& resolved, std::span<const Op> updates, Sharded shard) {
  Parallelism parallelism = resolved.layout->parallelism;
  parallelism.shard = shard;
  share_state(layout_request(resolved, parallelism), updates, *resolved.layout, resolved.classes);
}

}  // namespace trainyard
