#pragma once
// Settings of a layout that need others of the job: of its stack, its micro-batches or its model.

#include "strategy/parallelism.hpp"
#include "strategy/stack.hpp"

namespace trainyard {

/// Throws InputError if exchanges of tokens are to overlap with another micro-batch, but the job has no pairs
/// of passes that could run at once, or gathers parameters in them. Pairs are those of Megatron-Core.
void require_pairs(const Parallelism& parallelism, const Stack& stack);

}  // namespace trainyard
