#pragma once
// The order in which a stage of a pipeline runs the passes of a step's micro-batches, with closed forms for
// its time and its memory. With v chunks per rank, chunk k of stage r is chunk k p + r of the model; where
// chunks form a V, chunk 1 is chunk 2 p - 1 - r (strategy/stages.hpp).

#include "strategy/parallelism.hpp"
#include "units/quantity.hpp"

#include <vector>

namespace trainyard {

/// Where a schedule splits backward passes, `backward` computes the gradients of a chunk's inputs alone and
/// `weights` those of its weights; other schedules have no `weights`.
enum class PassKind { forward, backward, weights };

/// One micro-batch through one chunk.
struct Pass {
  PassKind kind{};
  int micro_batch = 0;
  int chunk = 0;  ///< of this rank: 0 to virtual_stages - 1
  friend bool operator==(const Pass&, const Pass&) = default;
};

/// The schedule of a job: its own, or the default.
PipelineSchedule schedule_of(const Parallelism& parallelism);

/// The passes of one stage (0 to `stages` - 1), each once. Only schedules with
/// ScheduleTraits::has_virtual_stages have more than one virtual stage, those that form a V exactly two.
/// `interleaved` needs `micro_batches` to be a multiple of `stages`, `dualpipe_v` at least two per stage.
/// Sources of the V: strategy/v_schedules.hpp. Others: Narayanan et al. 2021, arXiv 2104.04473, section 2.2,
/// and NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py; for zb_h1 Qi et al. 2024, arXiv
/// 2401.10241, section 2. `ahead`: further forward passes before the first backward pass of
/// 1f1b and interleaved, so that the passes of a pair are of two micro-batches.
std::vector<Pass> pass_order(PipelineSchedule schedule, int stages, int virtual_stages, int micro_batches,
                             int stage, int ahead = 0);

/// Durations of a micro-batch's passes through all chunks of one stage.
struct PassTimes {
  Seconds forward;
  Seconds backward;      ///< if backward is split: without the gradients of the weights
  Seconds weights = {};  ///< if backward is split
};

/// Time of a step without any bubble.
Seconds ideal_time(int micro_batches, const PassTimes& times);

/// The time of a step beyond ideal_time() if all stages are equal and messages take no time: (p - 1) / v
/// times a micro-batch's passes; for zb_h1 (p - 1) (forward + backward - weights). Exact if the conditions of
/// pass_order() hold; for zb_h1 if there are at least as many micro-batches as stages and `weights` is the
/// shortest of the three. Sources as pass_order(). Not for schedules that form a V.
Seconds bubble(PipelineSchedule schedule, int stages, int virtual_stages, const PassTimes& times);

/// The most micro-batches whose activations a stage keeps at once, counted in chunks: virtual_stages chunks
/// hold as much as a stage. Activations are kept until `backward` ends, if backward is split until `weights`
/// ends. Sources as pass_order().
int kept_micro_batches(PipelineSchedule schedule, int stages, int virtual_stages, int micro_batches,
                       int stage, int ahead = 0);

}  // namespace trainyard
