#pragma once
// Activations that backward computes again instead of keeping them: the ops that this adds to a trace, and
// the activations still kept. Sources: Chen et al. 2016, arXiv 1604.06174; Korthikanti et al. 2022, arXiv
// 2205.05198, section 5, for `selective`.

#include "strategy/parallelism.hpp"
#include "workload/layer.hpp"
#include "workload/memory.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// The blocks of a chunk of the model that `full` computes again; default: all. PyTorch's checkpoints without
/// use_reentrant stop when all values that backward needs exist again: a linear layer keeps its input, which
/// is there before its product, and an addition nothing (torch/utils/checkpoint.py, _StopRecomputationError).
struct RecomputedBlocks {
  std::optional<int> first = {};  ///< so many from the chunk's first one on
  std::optional<int> every = {};  ///< one in so many, the last of each
  bool stops_early = false;  ///< nothing from a block's last linear layer on, if only additions follow it
  std::vector<RecomputedModule> modules = {RecomputedModule::core_attn};  ///< that `selective` computes again
};

/// By layer, whether it is of one of the parts that `selective` computes again. Layer norms are of a part if
/// no product has them: in front of experts, and of latent attention. Source: NVIDIA/Megatron-LM b0cc2706
/// (core_v0.16), megatron/core/transformer/transformer_layer.py (recompute_input_layernorm,
/// recompute_pre_mlp_layernorm, recompute_mlp), multi_latent_attention.py (recompute_up_proj), moe/experts.py
/// (activation_recompute).
std::vector<bool> of_recomputed_modules(const std::vector<Layer>& layers,
                                        const std::vector<RecomputedModule>& modules);

/// By layer, the values that are not kept until backward with these modules: results of a part are discarded
/// (tensors inside it, and the copy that the next layer keeps as its input), but for the core of the
/// attention, whose result is kept.
std::vector<NotKept> not_kept(const std::vector<Layer>& layers, const std::vector<RecomputedModule>& modules);

/// Inserts copies of forward ops into the backward pass of a one-micro-batch trace made from `layers`, as ops
/// LAYER.recompute of that phase and of role `recompute`, with the collectives they launch (so after
/// add_transfers and before accumulate).
/// - selective: the chosen parts of a block, in front of the first of their backward ops; no attention core
///   of a flash kernel, which does so itself
/// - alternate: all forward ops of a block but those of fused attention, every second product, the first one
///   kept, and products whose results ranks reduce-scatter, since these are kept; products in 8 bits are all
///   computed again. Projections of one input count one by one (Layer::projections). Source:
///   pytorch/torchtitan ba246978, torchtitan/parallelisms/parallelize_llama.py, _save_list
/// - full: all forward ops of a block, in front of the block's backward ops. The collective after its last
///   linear layer is repeated too, as Megatron-LM does.
/// Layers outside of blocks are not computed again.
void recompute(Trace& trace, const std::vector<Layer>& layers, Recompute what, RecomputedBlocks blocks = {});

/// The layers with the values that they keep from forward until backward:
/// - selective: the values of not_kept() are not kept; of the attention scores, probabilities and their mask,
/// not operands
/// - alternate: a block keeps its input and the results of what it does not compute again
/// - full: a block keeps only its input
/// While backward is in a block, its recomputed values exist as well: block `live` keeps everything.
std::vector<Layer> kept_layers(std::vector<Layer> layers, Recompute what, std::optional<int> live = {},
                               RecomputedBlocks blocks = {});

}  // namespace trainyard
