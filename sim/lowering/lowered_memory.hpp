#pragma once
// Device memory of a training step as a framework runs it: a walk over its layers by the rules of a lowering.
// Forward adds what each layer keeps; backward, in reverse order, frees it and adds gradients; the update
// comes last.

#include "lowering/lower.hpp"
#include "workload/memory.hpp"

#include <vector>

namespace trainyard {

/// The moment of a step when the layers and the update hold most. The step's batch may be 0. Of `setting`
/// only the allocator's rounding, and whether gradients are there already (of earlier micro-batches, or in
/// buffers of their own) and the optimizer is. A layer of a kind without rules keeps what Layer says, and
/// holds the gradients of its input and output.
FullestMoment fullest_moment(const std::vector<Layer>& layers, const Lowering& rules, const LoweredStep& step,
                             const MemorySetting& setting);

}  // namespace trainyard
