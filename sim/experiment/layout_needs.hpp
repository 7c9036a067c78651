#pragma once
// Settings of a layout that need others of the job: of its stack, its micro-batches or its model. Without
// them a setting would have no effect.

#include "strategy/parallelism.hpp"
#include "strategy/stack.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

/// Whether the block is as if it were absent: it changes nothing, and has no key that asks for another one.
bool says_nothing(const Parallelism& parallelism);

/// Throws InputError if exchanges of tokens are to overlap with another micro-batch, but the job has no pairs
/// of passes that could run at once, or gathers parameters in them. Pairs are those of Megatron-Core.
void require_pairs(const Parallelism& parallelism, const Stack& stack, int micro_batches);

/// Throws InputError for settings of experts that nothing reads: the model has no experts, or no tokens
/// travel as they say. `layers`: the whole model's.
void require_use_of_experts(const std::vector<Layer>& layers, const Parallelism& parallelism,
                            const Stack& stack);

/// Throws InputError if the blocks to be computed again are more than those of a virtual stage.
void require_blocks(const Parallelism& parallelism, int most_blocks);

}  // namespace trainyard
