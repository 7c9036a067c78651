#pragma once
// Orders of passes from a pattern that every micro-batch repeats.

#include "strategy/pipeline_order.hpp"

#include <array>
#include <vector>

namespace trainyard {

/// The order of a stage's passes if micro-batch m runs in the slots of `pattern` + 6 m, a slot of each stage
/// per pass: forward through chunk 0 and 1, backward through chunk 1 and 0. Gradients of weights fill free
/// slots, the oldest first. While the pipeline fills and drains, passes move to earlier free slots as far as
/// their inputs allow and no stage then keeps more micro-batches than the stage that keeps the most. Source:
/// Qi et al. 2024, arXiv 2405.15362, section 4 ("squeezing"); here each pass moves once, in the order of its
/// slots.
std::vector<Pass> squeezed_order(const std::vector<std::array<int, 4>>& pattern, int micro_batches,
                                 int stage);

}  // namespace trainyard
