#pragma once
// Shared experts, which every token passes through, during the exchanges of the others' tokens
// (ExpertOverlap::shared_experts). Source: NVIDIA/Megatron-LM megatron/core/transformer/moe/shared_experts.py
// (commit d98e8a64).

#include "strategy/shard.hpp"
#include "workload/layer.hpp"

namespace trainyard {

/// Whether a layer is one of shared experts.
bool is_shared(const Layer& layer);

/// Moves the shared experts of each block to where tokens travel: their layers up to the last product run
/// while tokens are dispatched, the others while results are combined. `writes_copies`: a layer of its own
/// writes the copies that travel.
void overlap_shared_experts(ShardedModel& model, bool writes_copies);

}  // namespace trainyard
