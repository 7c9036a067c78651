#pragma once
// Device memory of a training step as a framework runs it: a walk over its layers by the rules of a lowering.
// Forward adds kept tensors; backward frees them in reverse order and adds gradients; the update comes last.

#include "lowering/lower.hpp"
#include "workload/memory.hpp"

#include <vector>

namespace trainyard {

/// The moment of a step when the layers and the update hold most. The step's batch may be 0. `setting` gives
/// the allocator's rounding, and whether the optimizer and gradients (of earlier micro-batches, or in buffers
/// of their own) exist already. A layer of a kind without rules keeps the tensors that Layer states, and
/// holds the gradients of its input and output.
FullestMoment fullest_moment(const std::vector<Layer>& layers, const Lowering& rules, const LoweredStep& step,
                             const MemorySetting& setting);

}  // namespace trainyard
