#pragma once
// Context parallelism: the ranks of a context group share the tokens of a sample. Everything but attention
// works on a rank's own tokens; attention needs the keys and values of all of them. share_tokens() divides
// the layers of shard.hpp further, add_rings() turns attention into blocks during which keys and values
// travel. Sources: NVIDIA/Megatron-LM, docs/source/api-guide/context_parallel.rst; for the order of messages
// NVIDIA/TransformerEngine, attention/dot_product_attention/context_parallel.py.

#include "strategy/parallelism.hpp"
#include "strategy/shard.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// Throws InputError, with the numbers, if the context ranks cannot share the tokens of these whole layers:
/// - the model has no attention, or attention in several kernels, which Megatron-LM refuses as well
///   (core/transformer/dot_product_attention.py)
/// - 2 x context does not divide the tokens: a rank has one chunk from each half of a sample, so that all
///   compute the same share of a causal mask (Megatron-LM, training/arguments.py)
/// - with sequence parallelism, tensor does not divide the tokens of a context rank
/// - a2a: context does not divide the heads, or the heads of keys and values, of a tensor rank
void require_context(const std::vector<Layer>& layers, const Parallelism& parallelism);

/// Divides the tokens of one rank's layers, and the transfers of these, among the context ranks; parameters
/// stay whole. Adds the collectives that exchange keys and values outside of a ring, per attention layer:
/// - all_gather: keys and values are gathered before attention, again before its backward pass, since a rank
///   keeps only its own, and their gradients are reduce-scattered after it
/// - a2a: queries, keys and values of own tokens become those of own heads before attention, its
///   output those of own tokens after it; backward does the same with the gradients, the output's first
/// FLOPs of attention are divided equally: masked parts are balanced among the ranks. With a2a the output of
/// attention is kept too, since the projection keeps another tensor.
void share_tokens(ShardedModel& model, const Parallelism& parallelism);

/// With exchange p2p, replaces the attention ops of a one-micro-batch trace made from `layers` (after
/// share_tokens and add_transfers) by one op LAYER.blockI for each context rank's tokens, equally long.
/// During each block but the last one forward sends keys and values of one rank's tokens to the next rank,
/// and the next block waits for them. Backward sends keys and values during the first block, their gradients
/// during the last one, and both during all other blocks. The merging of the blocks' outputs is not counted.
void add_rings(Trace& trace, const std::vector<Layer>& layers, const Parallelism& parallelism);

}  // namespace trainyard
