#include "experiment/layout_needs.hpp"

#include "strategy/layout_refusal.hpp"
#include "strategy/pipeline_order.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>

namespace trainyard {
namespace {

void require_travel(const Parallelism& parallelism, const Stack& stack) {
  const TokenDispatcher dispatcher = parallelism.dispatcher.value_or(stack.dispatcher);
  const bool is_lowered =
      stack.runtime != Runtime::fused;  // its kernels and its host depend on the dispatcher
  if (parallelism.dispatcher && parallelism.expert == 1 && parallelism.tensor == 1 && !is_lowered)
    refuse_layout("dispatcher", "no tokens travel to other ranks: expert is 1",
                  "leave out 'dispatcher', or expert: 2 or more");
  const Routing& routing = parallelism.routing;
  if (!routing.groups) return;
  if (!routing.group_limit)
    refuse_layout("routing.groups",
                  "'groups' forms groups of which 'group_limit' says how many a token visits",
                  "add group_limit: 4, or leave out 'groups'");
  if (parallelism.expert > 1 && dispatcher == TokenDispatcher::deepep) return;
  refuse_layout("routing.groups",
                "only dispatcher deepep sends a token once to each node, so that groups matter",
                parallelism.expert > 1 ? "dispatcher: deepep, or leave out 'groups' and 'group_limit'"
                                       : "expert: 2 or more, or leave out 'groups' and 'group_limit'");
}

}  // namespace

bool says_nothing(const Parallelism& parallelism) {
  return changes_nothing(parallelism) && parallelism.recompute_modules.empty() &&
         !parallelism.recompute_layers && !parallelism.recompute_every && !parallelism.expert_tensor &&
         parallelism.shard_over == ShardOver::data;
}

void require_pairs(const Parallelism& parallelism, const Stack& stack, int micro_batches) {
  if (parallelism.expert_overlap != ExpertOverlap::micro_batches) return;
  if (has_units(stack, parallelism.shard))
    refuse_layout("expert_overlap", "passes of two micro-batches would gather parameters at once",
                  "shard: optimizer, or leave out 'expert_overlap'");
  const PipelineSchedule schedule = schedule_of(parallelism);
  const bool is_one = schedule == PipelineSchedule::one_f_one_b && parallelism.pipeline == 1;
  if (!is_one && schedule != PipelineSchedule::interleaved) {
    const std::string other = parallelism.pipeline == 1 ? "schedule: 1f1b"
                              : parallelism.schedule    ? "schedule: interleaved with virtual_stages: 2"
                                                        : "virtual_stages: 2";
    refuse_layout("expert_overlap",
                  "passes of two micro-batches overlap without a pipeline, or with schedule interleaved",
                  other + ", or leave out 'expert_overlap'");
  }
  if (micro_batches == 1)
    refuse_layout("expert_overlap", "a step of 1 micro-batch has no other one to overlap with",
                  "accumulation: 2 or more, or leave out 'expert_overlap'");
}

void require_use_of_experts(const std::vector<Layer>& layers, const Parallelism& parallelism,
                            const Stack& stack) {
  if (std::ranges::any_of(layers, [](const Layer& layer) { return layer.experts > 0; }))
    return require_travel(parallelism, stack);
  const bool overlaps = parallelism.expert_overlap != ExpertOverlap::none;
  if (!parallelism.dispatcher && !overlaps) return;
  const std::string key = overlaps ? "expert_overlap" : "dispatcher";
  refuse_layout(key, fmt::format("'{}' is about experts, but the model has none", key),
                fmt::format("leave out '{}'", key));
}

void require_blocks(const Parallelism& parallelism, int most_blocks) {
  const auto require = [&](const char* key, const std::optional<int>& count) {
    if (!count || *count <= most_blocks) return;
    refuse_layout(
        key,
        fmt::format("'{}' is {}, but no virtual stage has more than {} blocks", key, *count, most_blocks),
        fmt::format("{}: at most {}, or leave it out", key, most_blocks));
  };
  require("recompute_layers", parallelism.recompute_layers);
  require("recompute_every", parallelism.recompute_every);
}

}  // namespace trainyard
