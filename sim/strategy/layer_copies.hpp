#pragma once
// All-to-alls between ranks that divide layers, as copies of their parts, in frameworks that have no
// collective for them: OneFlow up to 0.3 slices tensors and copies slice by slice.

#include "strategy/layer_division.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// Copies that the process of one node starts for an all-to-all of groups of `ranks` ranks, if a node has
/// `per_node`. Inside a node each rank's part for each other one is a copy. For every rank of another node
/// the parts of the node's ranks are copied together in host memory; the message arrives in the host memory
/// of the other node, and a further copy brings it to the GPU. Source: Oneflow-Inc/oneflow v0.2.0,
/// oneflow/core/graph/boxing/slice_boxing_sub_task_graph_builder.cpp, BuildSubTaskGphS2S.
int copies_of_all_to_all(int ranks, int per_node);

/// Bytes that these copies move, for a buffer of `size` on each rank.
Bytes copied_by_all_to_all(Bytes size, int ranks, int per_node);

/// Inserts these copies as host ops LAYER.copies in front of every all-to-all between the ranks that divide
/// layers, if the stack has `layer_copies`: their starts, and their bytes through host memory at the rate
/// `through_host`, one copy after the other. The trace is that of one micro-batch, with its transfers. Within
/// one node the copies take the place of the all-to-all, and ranks no longer wait for each other there; over
/// several it stays, since it moves the bytes between nodes.
void add_layer_copies(Trace& trace, const Stack& stack, DividingRanks among, int per_node,
                      Bandwidth through_host);

}  // namespace trainyard
