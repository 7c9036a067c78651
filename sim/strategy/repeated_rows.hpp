#pragma once
// Kernels that add up the gradients of one row of a table one after the other: their time is that of the row
// that most samples look up, whatever the number of other rows.

#include "strategy/stack.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// Adds an op LAYER.repeated_rows after the backward op of every embedding whose most frequent row several
/// samples look up (Layer::repeated_rows), if the stack adds their gradients one after the other
/// (Stack::repeated_rows): that time for each of them. The trace is one made by make_trace from `layers`,
/// before accumulation. Its duration is given: the GPU's bandwidth does not change it, since one thread block
/// waits for memory.
void add_repeated_rows(Trace& trace, const std::vector<Layer>& layers, const Stack& stack);

}  // namespace trainyard
