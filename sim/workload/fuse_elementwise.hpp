#pragma once
// Element-wise ops that follow each other as one kernel, as compilers like XLA make it: what one op writes
// for the next stays in registers. Between make_trace and accumulate, for stacks with fused_elementwise.

#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <string_view>
#include <vector>

namespace trainyard {

/// Joins the ops of a trace that make_trace made of `layers`. A chain starts with ReLU, GELU, dropout or an
/// addition; forward also with a batch norm, layer norm or softmax, whose last pass is element-wise and which
/// give the joined op their kind. The others of these follow, as many as read what the one before wrote. The
/// result has the operations of all, the bytes of all but the values passed on, which are neither read nor,
/// where backward and other branches can do without, written, and a layer of "bn3 + add + relu". Casts of
/// weights are no part of any chain.
void fuse_elementwise(Trace& trace, const std::vector<Layer>& layers);

/// The first of the layers that a fused op is made of; any other op's own.
std::string_view first_layer(std::string_view layer);

}  // namespace trainyard
