#pragma once
// Schedules of pipelines whose chunks form a V: a stage has one chunk of the first half of the model and one
// of the second half, which comes back from the last stage to the first. All of them split the backward pass.

#include "strategy/pipeline_order.hpp"

#include <vector>

namespace trainyard {

/// The passes of one stage (0 to `stages` - 1) under a schedule with ScheduleTraits::is_v, each once.
/// dualpipe_v needs at least 2 `stages` micro-batches. Sources: zb_v Qi et al. 2024, arXiv 2401.10241,
/// section 6, in the fixed order of PyTorch (torch/distributed/pipelining/schedules.py,
/// ScheduleZBVZeroBubble); v_half and v_min Qi et al. 2024, arXiv 2405.15362, with the repeated patterns of
/// sail-sg/zero-bubble (megatron/core/pipeline_parallel/zerobubble/scheduler/zbv_greedy.py); dualpipe_v
/// deepseek-ai/DualPipe (dualpipe/dualpipev.py).
std::vector<Pass> v_order(PipelineSchedule schedule, int stages, int micro_batches, int stage);

}  // namespace trainyard
