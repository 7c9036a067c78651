#pragma once
// Sampling of classes: a linear layer computes the outputs of the samples' own classes and of others that are
// drawn anew for every micro-batch. Source: deepinsight/insightface,
// recognition/arcface_torch/partial_fc_v2.py, class PartialFC_V2; An et al. 2022, arXiv 2203.15565.

#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// Adds the work of sampling to a one-micro-batch trace made from `layers`, after add_transfers(), around the
/// products of each layer with `drawn` below 1. A rank computes k of its N classes, with D parameters each:
/// - LAYER.draw, in forward: writes N random values of 4 bytes and takes the k largest (torch.topk: a radix
///   select with 8 bits a pass, then a pass that collects them; compression.hpp), 24 N bytes. It begins when
///   the inputs and the labels are there, since the labels' classes come first.
/// - LAYER.gather: copies k rows of weights together, before a cast of them: reads and writes k D values.
/// - LAYER.scatter, in backward: writes a gradient of zeros for all N rows and adds k rows to it, which reads
///   their gradients and the zeros and writes the sums: (N + 3 k) D values.
/// PartialFC_V2 leaves the gradient of the rows to autograd, so that the update passes over all N rows; only
/// its predecessor partial_fc.py (class PartialFC) updates k rows alone, with their momentum.
/// If the labels have more than k different classes of a rank, PartialFC_V2 computes all of these; k is
/// assumed to suffice. Not counted: the normalisation of embeddings and rows, the margin.
void add_sampling(Trace& trace, const std::vector<Layer>& layers);

}  // namespace trainyard
