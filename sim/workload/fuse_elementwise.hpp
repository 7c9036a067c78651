#pragma once
// Fuses consecutive element-wise ops into one kernel, as compilers like XLA do: values between them stay in
// registers. Runs between make_trace and accumulate, for stacks with fused_elementwise.

#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <string_view>
#include <vector>

namespace trainyard {

/// Joins the ops of a trace that make_trace made from `layers`. A chain starts with ReLU, GELU, dropout or an
/// addition; in forward also with a norm or softmax, whose last pass is element-wise and whose kind the fused
/// op gets. Any number of ReLU, GELU, dropout and addition ops follow, each reading the output of the one
/// before. The fused op has the operations of all, and the bytes of all without the values passed on: these
/// are not read and, unless backward or other branches need them, not written. It is called "bn3 + add +
/// relu" and counts as an op of the first layer. Casts of weights are never part of a chain.
void fuse_elementwise(Trace& trace, const std::vector<Layer>& layers);

/// The first layer of a fused op; otherwise the op's own layer.
std::string_view first_layer(std::string_view layer);

}  // namespace trainyard
