#include "experiment/layout_needs.hpp"

#include "strategy/layout_refusal.hpp"
#include "strategy/pipeline_order.hpp"

namespace trainyard {

void require_pairs(const Parallelism& parallelism, const Stack& stack) {
  if (parallelism.expert_overlap != ExpertOverlap::micro_batches) return;
  if (has_units(stack, parallelism.shard))
    refuse_layout("expert_overlap", "passes of two micro-batches would gather parameters at once",
                  "shard: optimizer, or leave out 'expert_overlap'");
  const PipelineSchedule schedule = schedule_of(parallelism);
  const bool is_one = schedule == PipelineSchedule::one_f_one_b && parallelism.pipeline == 1;
  if (!is_one && schedule != PipelineSchedule::interleaved)
    refuse_layout("expert_overlap",
                  "passes of two micro-batches overlap without a pipeline, or with virtual stages",
                  "virtual_stages: 2, or leave out 'expert_overlap'");
}

}  // namespace trainyard
