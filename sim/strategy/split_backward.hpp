#pragma once
// The two parts of a backward pass in zero-bubble schedules: the gradients of the inputs, which the stage
// before waits for, and those of the weights of matrix products and convolutions, which nobody waits for
// until the update. Source: Qi et al. 2024, Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.

#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// Moves the ops of `backward`, made from `layers`, that compute gradients of weights into the result, in
/// order. Collectives that could overlap with them hold up the next op that is left.
std::vector<Op> split_backward(std::vector<Op>& backward, const std::vector<Layer>& layers);

}  // namespace trainyard
