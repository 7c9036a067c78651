#pragma once
// Divides the layers of a model among the ranks of a tensor group: the layers of one rank, and the
// collectives that this adds to the passes of a micro-batch (transfer.hpp attaches them to a trace).
// Sources: Shoeybi et al. 2019, Megatron-LM, arXiv 1909.08053, section 3; for sequence parallelism
// Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2; which gradient hides which collective:
// NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py.

#include "strategy/transfer.hpp"
#include "workload/layer.hpp"
#include "workload/model.hpp"

#include <vector>

namespace trainyard {

struct ShardSetting {
  int tensor = 1;              ///< ranks that share every layer
  bool sequence = false;       ///< they also share the tokens between the divided layers
  bool whole_experts = false;  ///< experts compute the tokens of one rank instead of being divided
};

/// The layers of one rank, in the model's order and number, and their collectives in order of the layers.
struct ShardedModel {
  std::vector<Layer> layers;
  std::vector<Transfer> transfers;
};

/// Divides each layer by its `split`; layers with `none` stay whole, so do those with `tokens` without
/// sequence parallelism. All ranks of a group are alike. Layer norms, biases of layers split by rows, and
/// position embeddings are copied to every rank; keys and values too, once there are more ranks than heads of
/// them. With tensor > 1 the loss keeps its logits in fp32. `tensor` of 1 returns the model's own layers and
/// no transfers. With t ranks:
/// - rows: all-reduce of the output after the forward op
/// - columns: all-reduce of the input's gradient, overlapped with the gradient of the weights
/// - table: all-reduce of the output
/// - loss: three all-reduces of one fp32 value per row: maximum, own logit, sum of exponentials (Megatron-LM,
///   tensor_parallel/cross_entropy.py)
/// With sequence parallelism, where tokens are divided before or after the layer:
/// - rows: reduce-scatter of the output; all-gather of its gradient before the backward ops
/// - columns: all-gather of the input before the forward op, and again during the gradient of the input,
///   since a rank keeps only its own tokens; reduce-scatter of the input's gradient during that of the
///   weights
/// - table: as rows
/// - none: all-gather of the tokens before the forward op; its gradient is whole on every rank
/// Throws as require_divisible.
ShardedModel shard(const Model& model, const ShardSetting& setting);

/// Throws InputError, with the numbers, if the ranks cannot divide the layers equally: heads, features, rows
/// of the vocabulary; tokens with `sequence`; heads of keys and values unless they divide the ranks; and if
/// `tensor` is below 1, `sequence` is set without more than one rank, or the model has no layer with a split.
void require_divisible(const std::vector<Layer>& layers, const ShardSetting& setting);

/// Parameters of one rank whose gradients cover only its own tokens with sequence parallelism, so that the
/// ranks of the group sum them once per step: those of norms and routers, and biases of layers split by rows.
double partial_gradients(const std::vector<Layer>& layers);

}  // namespace trainyard
