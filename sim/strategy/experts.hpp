#pragma once
// Expert parallelism: divides the experts of a model among the ranks of a group, and adds the exchanges of
// their tokens. Sources: Lepikhin et al. 2020, GShard, arXiv 2006.16668, section 3; NVIDIA/Megatron-LM
// megatron/core/transformer/moe/token_dispatcher.py (commit d98e8a64), moe_layer.py and shared_experts.py.

#include "config/diagnostic.hpp"
#include "strategy/parallelism.hpp"
#include "strategy/shard.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct ExpertSetting {
  int expert = 1;              ///< ranks that divide the experts
  int tensor = 1;              ///< ranks of a tensor group
  bool sequence = false;       ///< as in ShardSetting
  bool whole_experts = false;  ///< tensor ranks have experts of their own instead of dividing each
  Routing routing = {};
  TokenDispatcher dispatcher = TokenDispatcher::all_to_all;
  ExpertOverlap overlap = ExpertOverlap::none;
};

/// `usual`: the dispatcher of jobs that state none.
ExpertSetting expert_setting(const Parallelism& parallelism, TokenDispatcher usual);

/// Throws InputError if `expert_tensor` is neither 1 nor `tensor`, or given for a model without experts.
void require_expert_tensor(const std::vector<Layer>& layers, const Parallelism& parallelism);

/// Throws InputError, with the numbers, if the experts cannot be divided: no model with experts, a number of
/// experts that `expert` does not divide, tensor groups without sequence parallelism (Megatron-LM refuses
/// them, too), or a routing that does not fit.
void require_experts(const std::vector<Layer>& layers, const ExpertSetting& setting);

/// Divides the experts of layers that shard() has divided. With e ranks, T tokens of a rank of which each has
/// k copies, and t ranks that divide an expert (1 for whole experts):
/// - a rank has the weights of 1/e of the experts, whose gradients the groups of Axis::expert_data sum
/// - it computes as many rows as before, T k t, for fewer experts: those of the fullest rank if some are
///   fuller, all places of the experts with a capacity
/// - without a capacity, all-gather of the 8-byte numbers of tokens for each expert
/// - all_to_all: all-to-all of the copies (S = T k h values) and of their probabilities in fp32, then
///   all-gather over the tensor group; after the experts reduce-scatter, then all-to-all; the same for the
///   gradients in backward, without the numbers. All-to-alls take as long as for the fullest rank. Ranks with
///   several experts sort the rows that they receive by expert: two more passes over them
/// - all_gather: all tokens of the group, a byte and a probability for each of their experts; then copies for
///   the own experts; after these sums of zeros and results for all tokens, and their reduce-scatter
/// - deepep: all-to-alls of as many values, before tokens are copied and after results are added up, with
///   the probabilities (not counted: a few bytes per token); schedule/ sends each token once to a rank
/// With shared_experts, the layers of shared experts follow the copies, the last product of them the experts,
/// and run during the exchanges. Capacities are those of one sample. A model without experts stays as it is.
ShardedModel share_experts(ShardedModel sharded, const ExpertSetting& setting);

/// In a trace made from `layers` whose ops a host launches, makes it wait for the numbers of tokens, without
/// which it cannot launch the next kernels: after the launch of the copies (all_to_all), before that
/// (all_gather), or before the exchange (deepep). With a capacity all numbers are known.
void await_counts(Trace& trace, const std::vector<Layer>& layers, const ExpertSetting& setting);

/// Whether a layer copies tokens for their experts, rather than adding up the results of these.
inline bool copies_tokens(const Layer& layer) {
  return layer.kind == LayerKind::permute && layer.forward_flops == Flops();
}

/// Warnings about slow experts, whose products have few rows. `layers`: of a rank.
std::vector<Diagnostic> expert_warnings(const std::vector<Layer>& layers, int micro_batch);

/// What is assumed about the spread of tokens over the experts, and the fullest rank; empty without experts.
std::string routing_note(const std::vector<Layer>& layers, const ExpertSetting& setting);

}  // namespace trainyard
