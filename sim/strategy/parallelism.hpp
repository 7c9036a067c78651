#pragma once
// How the ranks of a job share a model: the block `parallelism` of an experiment. Terms and defaults are
// those of Megatron-LM; strategy/grid.hpp numbers the ranks, strategy/shard.hpp divides layers,
// strategy/stages.hpp cuts the model into stages.

#include "collectives/axis.hpp"
#include "config/glossary.hpp"
#include "config/traits.hpp"
#include "strategy/layer_rule.hpp"
#include "strategy/routing.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The order of forward and backward passes on a stage of a pipeline.
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zb_h1, zb_v, v_half, v_min, dualpipe_v };

/// Everything in which schedules differ but the order of their passes (strategy/pipeline_order.hpp).
struct ScheduleTraits {
  bool has_virtual_stages = false;  ///< several chunks of the model on each rank
  bool splits_backward = false;     ///< gradients of weights are passes of their own, that fill the bubble
  bool hides_messages = false;      ///< messages between stages overlap with the passes
  bool is_v = false;                ///< two chunks on each rank; those of the second half run backwards
};

inline constexpr ScheduleTraits v_shaped{
    .has_virtual_stages = true, .splits_backward = true, .hides_messages = true, .is_v = true};

inline constexpr std::array pipeline_schedules{
    config::Row{"gpipe", PipelineSchedule::gpipe, "all forward passes, then all backward passes",
                ScheduleTraits{}},
    config::Row{"1f1b", PipelineSchedule::one_f_one_b,
                "one forward and one backward pass in turn, after a warm-up", ScheduleTraits{}},
    config::Row{"interleaved", PipelineSchedule::interleaved, "1f1b over several virtual stages per rank",
                ScheduleTraits{.has_virtual_stages = true, .hides_messages = true}},
    config::Row{"zb_h1", PipelineSchedule::zb_h1,
                "1f1b whose weight gradients fill the bubble (ZB-H1 of Zero Bubble Pipeline Parallelism)",
                ScheduleTraits{.splits_backward = true, .hides_messages = true}},
    config::Row{"zb_v", PipelineSchedule::zb_v,
                "first and last chunk on one rank, weight gradients fill the bubble; memory of 1f1b (ZB-V)",
                v_shaped},
    config::Row{"v_half", PipelineSchedule::v_half,
                "as zb_v with half of its activations and a larger bubble (V-Half)", v_shaped},
    config::Row{"v_min", PipelineSchedule::v_min,
                "as zb_v with a third of its activations and a larger bubble (V-Min)", v_shaped},
    config::Row{"dualpipe_v", PipelineSchedule::dualpipe_v,
                "micro-batches go through a V in both directions at once (DualPipeV of DeepSeek)", v_shaped}};

constexpr const ScheduleTraits& traits(PipelineSchedule schedule) {
  return config::traits_in<pipeline_schedules>(schedule);
}

/// Chunks per rank of schedules that form a V.
inline constexpr int chunks_of_v = 2;

/// The schedules of jobs that state none, without and with virtual stages.
inline constexpr PipelineSchedule usual_schedule = PipelineSchedule::one_f_one_b;
inline constexpr PipelineSchedule usual_with_virtual_stages = PipelineSchedule::interleaved;

/// Activations that backward computes again instead of keeping them.
enum class Recompute { none, selective, alternate, full };

/// The parts of a block that selective recomputation has: `--recompute-modules` of Megatron-LM
/// (megatron/core/transformer/transformer_config.py, recompute_modules).
enum class RecomputedModule { core_attn, layernorm, moe_act, mla_up_proj, mlp };

/// The state of a parameter that its replicas divide among themselves instead of each holding all of it.
enum class Sharded { none, optimizer, gradients, parameters };

/// The ranks that divide a parameter's state.
enum class ShardOver { data, node };

/// How the ranks of a context group exchange keys and values: `--cp-comm-type` of Megatron-LM
/// (megatron/core/transformer/transformer_config.py, cp_comm_type).
enum class ContextExchange { p2p, all_gather, all_to_all };

/// Computation that runs while tokens travel to and from their experts.
enum class ExpertOverlap {
  none,
  shared_experts,  ///< `--moe-shared-expert-overlap`
  micro_batches    ///< the other pass of 1f1b: `--overlap-moe-expert-parallel-comm`
};

struct Parallelism {
  int tensor = 1;
  int pipeline = 1;
  int virtual_stages = 1;  ///< chunks of the model on each rank
  int context = 1;
  std::optional<ContextExchange> context_exchange = {};  ///< default: p2p
  int expert = 1;
  std::optional<int> expert_tensor = {};  ///< ranks that divide each expert: 1 or `tensor`, the default
  std::optional<TokenDispatcher> dispatcher = {};  ///< default: the stack's
  ExpertOverlap expert_overlap = ExpertOverlap::none;
  /// The first axis is the innermost: its groups have consecutive ranks.
  std::vector<Axis> order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};
  bool sequence = false;                          ///< sequence parallelism between the divided layers
  std::optional<PipelineSchedule> schedule = {};  ///< default: 1f1b, with virtual stages interleaved
  std::vector<int> stages = {};  ///< blocks of each chunk in the model's order; empty: equal parts
  bool unequal_stages = false;   ///< chunks need not have equally many blocks, in place of `stages`
  std::vector<std::string> first_layers = {};  ///< of each chunk but the first, in place of `stages`
  Recompute recompute = Recompute::none;
  std::vector<RecomputedModule> recompute_modules = {};  ///< of selective; empty: core_attn
  std::optional<int> recompute_layers = {};              ///< blocks of each chunk that full recomputation has
  std::optional<int> recompute_every = {};               ///< or one in so many
  Sharded shard = Sharded::none;
  ShardOver shard_over = ShardOver::data;
  std::vector<LayerRule> layers = {};   ///< layers that replicas divide; the first that matches counts
  std::optional<int> layer_group = {};  ///< replicas that divide them; default: all
  Routing routing = {};
  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

/// How the ranks of a context group exchange keys and values: as the block says, or Megatron-LM's default
/// (megatron/training/arguments.py).
inline ContextExchange exchange_of(const Parallelism& parallelism) {
  return parallelism.context_exchange.value_or(ContextExchange::p2p);
}

/// Whether a job is the same without the block: every rank holds and does everything, in the usual order.
inline bool changes_nothing(const Parallelism& parallelism) {
  const bool is_usual = parallelism.schedule.value_or(usual_schedule) == usual_schedule;
  const auto ranks_of_model = {parallelism.tensor, parallelism.pipeline, parallelism.virtual_stages,
                               parallelism.context, parallelism.expert};
  return std::ranges::all_of(ranks_of_model, [](int count) { return count == 1; }) && is_usual &&
         !parallelism.sequence && !parallelism.context_exchange && parallelism.stages.empty() &&
         !parallelism.unequal_stages && parallelism.first_layers.empty() &&
         parallelism.order == Parallelism{}.order && parallelism.recompute == Recompute::none &&
         parallelism.shard == Sharded::none && parallelism.layers.empty() && !parallelism.layer_group &&
         parallelism.routing == Routing{} && parallelism.expert_tensor.value_or(1) == 1 &&
         !parallelism.dispatcher && parallelism.expert_overlap == ExpertOverlap::none;
}

/// Whether replicas sum gradients by all-reduces. If all of them divide the state, each needs only the sum of
/// its part.
inline bool has_all_reduces(const Parallelism& parallelism) {
  return parallelism.shard == Sharded::none || parallelism.shard_over == ShardOver::node;
}

/// Forward passes that a stage runs ahead, so that each backward pass runs with the forward pass of another
/// micro-batch. Source: NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py (commit d98e8a64).
inline int passes_ahead(const Parallelism& parallelism) {
  return parallelism.expert_overlap == ExpertOverlap::micro_batches ? 1 : 0;
}

/// The parts of a block that selective recomputation has.
inline std::vector<RecomputedModule> recomputed_modules(const Parallelism& parallelism) {
  if (!parallelism.recompute_modules.empty()) return parallelism.recompute_modules;
  return {RecomputedModule::core_attn};
}

/// Whether tensor ranks have experts of their own instead of dividing each expert.
inline bool has_whole_experts(const Parallelism& parallelism) {
  return parallelism.tensor > 1 && parallelism.expert_tensor == 1;
}

/// Whether several of `ranks` hold the same parameter. Where each is held once, no state can be divided, and
/// all values of `shard` mean the same.
inline bool has_copies(const Parallelism& parallelism, int ranks) {
  const int of_stage = ranks / parallelism.pipeline;
  return of_stage > (has_whole_experts(parallelism) ? std::min(parallelism.tensor, parallelism.expert)
                                                    : parallelism.tensor);
}

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<PipelineSchedule> {
  static constexpr std::string_view what = "pipeline schedule";
  static constexpr std::array table = names_in<pipeline_schedules>(
      Name{"afab", PipelineSchedule::gpipe, ""}, Name{"one_f_one_b", PipelineSchedule::one_f_one_b, ""},
      Name{"pipedream_flush", PipelineSchedule::one_f_one_b, ""},
      Name{"interleaved_1f1b", PipelineSchedule::interleaved, ""}, Name{"zbv", PipelineSchedule::zb_v, ""},
      Name{"zbv_zero_bubble", PipelineSchedule::zb_v, ""},
      Name{"dual_pipe_v", PipelineSchedule::dualpipe_v, ""},
      Name{"dualpipev", PipelineSchedule::dualpipe_v, ""});
  static constexpr std::array other_words{
      OtherWord{"zero_bubble", "zb_h1 and zb_v are simulated"},
      OtherWord{
          "zb_h2",
          "not simulated; zb_h1 needs less memory and has a larger bubble, zb_v has two chunks per rank"},
      OtherWord{
          "dualpipe",
          "not simulated; dualpipe_v has its bubble on half the ranks, without a second copy of the model"}};
};

template <>
struct Names<Recompute> {
  static constexpr std::string_view what = "recomputation of activations";
  static constexpr std::array table{
      Name{"none", Recompute::none, "all activations that backward needs are kept"},
      Name{"selective", Recompute::selective,
           "the parts of each block in recompute_modules are computed again, by default the core of the "
           "attention"},
      Name{"alternate", Recompute::alternate,
           "all of a block but fused attention and every second product (torchtitan's selective_ac_option "
           "op)"},
      Name{"full", Recompute::full, "only the input of each block is kept"},
      Name{"false", Recompute::none, ""},
      Name{"off", Recompute::none, ""},
      Name{"attention", Recompute::selective, ""},
      Name{"core_attn", Recompute::selective, ""},
      Name{"true", Recompute::full, ""},
      Name{"on", Recompute::full, ""},
      Name{"block", Recompute::full, ""},
      Name{"uniform", Recompute::full, ""}};
};

template <>
struct Names<RecomputedModule> {
  static constexpr std::string_view what = "part of a block";
  static constexpr std::array table{
      Name{"core_attn", RecomputedModule::core_attn,
           "scores, softmax and context, unless one kernel has them"},
      Name{"layernorm", RecomputedModule::layernorm,
           "the norms in front of experts and of latent attention; others are fused with their product"},
      Name{"moe_act", RecomputedModule::moe_act, "the activation between the products of experts"},
      Name{"mla_up_proj", RecomputedModule::mla_up_proj,
           "latent attention's norms and products of the latents, and the rotation"},
      Name{"mlp", RecomputedModule::mlp, "the feed-forward half of blocks without experts"}};
};

template <>
struct Names<Sharded> {
  static constexpr std::string_view what = "sharded state";
  static constexpr std::array table{
      Name{"none", Sharded::none, "every replica holds everything"},
      Name{"optimizer", Sharded::optimizer, "optimizer state (ZeRO-1, Megatron's distributed optimizer)"},
      Name{"gradients", Sharded::gradients, "and gradients (ZeRO-2)"},
      Name{"parameters", Sharded::parameters, "and parameters (ZeRO-3, FSDP)"},
      Name{"0", Sharded::none, ""},
      Name{"false", Sharded::none, ""},
      Name{"ddp", Sharded::none, ""},
      Name{"zero0", Sharded::none, ""},
      Name{"no_shard", Sharded::none, ""},
      Name{"1", Sharded::optimizer, ""},
      Name{"zero1", Sharded::optimizer, ""},
      Name{"distributed_optimizer", Sharded::optimizer, ""},
      Name{"2", Sharded::gradients, ""},
      Name{"zero2", Sharded::gradients, ""},
      Name{"shard_grad_op", Sharded::gradients, ""},
      Name{"3", Sharded::parameters, ""},
      Name{"zero3", Sharded::parameters, ""},
      Name{"true", Sharded::parameters, ""},
      Name{"fsdp", Sharded::parameters, ""},
      Name{"fsdp2", Sharded::parameters, ""},
      Name{"full_shard", Sharded::parameters, ""}};
  static constexpr std::array other_words{
      OtherWord{"hsdp", "parameters, with shard_over: node"},
      OtherWord{"hybrid_shard", "parameters, with shard_over: node"},
      OtherWord{"mics", "parameters, with shard_over: node"},
      OtherWord{"zero", "optimizer, gradients or parameters (ZeRO stages 1 to 3)"}};
};

template <>
struct Names<ShardOver> {
  static constexpr std::string_view what = "ranks that divide state";
  static constexpr std::array table{
      Name{"data", ShardOver::data, "all replicas"},
      Name{"node", ShardOver::node, "the replicas of each node; nodes hold copies (HSDP, MiCS)"}};
};

template <>
struct Names<ContextExchange> {
  static constexpr std::string_view what = "exchange of keys and values";
  static constexpr std::array table{
      Name{"p2p", ContextExchange::p2p,
           "around a ring of the ranks, overlapped with the attention (ring attention)"},
      Name{"all_gather", ContextExchange::all_gather, "gathered before the attention (Llama 3)"},
      Name{"a2a", ContextExchange::all_to_all,
           "from own tokens to own heads and back by all-to-all (DeepSpeed-Ulysses)"}};
};

template <>
struct Names<ExpertOverlap> {
  static constexpr std::string_view what = "overlap with exchanges of tokens";
  static constexpr std::array table{
      Name{"none", ExpertOverlap::none, "kernels wait for them"},
      Name{"shared_experts", ExpertOverlap::shared_experts,
           "the shared experts run meanwhile (--moe-shared-expert-overlap)"},
      Name{"micro_batches", ExpertOverlap::micro_batches,
           "the forward pass of one micro-batch runs during those of the backward pass of another, and vice "
           "versa (--overlap-moe-expert-parallel-comm)"}};
};

template <>
struct Keys<Parallelism> {
  static constexpr const std::span<const OtherWord>& other_words = glossary;
  static auto table() {
    constexpr double most = 1e6;
    return keys(
        optional("tensor", &Parallelism::tensor,
                 "ranks that share every layer (Megatron-LM): heads of the attention, columns and rows of "
                 "linear layers, and the vocabulary, padded to a multiple of 128 x tensor")
            .between(1, most),
        optional("pipeline", &Parallelism::pipeline, "stages of the pipeline").between(1, most),
        optional(
            "virtual_stages", &Parallelism::virtual_stages,
            "virtual stages on each rank: number k of rank r is virtual stage k x pipeline + r of the model")
            .between(1, most),
        optional("context", &Parallelism::context,
                 "ranks that share the tokens of a sample; twice their number must divide the sequence, and "
                 "attention must be flash")
            .between(1, most),
        optional("context_exchange", &Parallelism::context_exchange,
                 "how the ranks of a context group exchange keys and values; default: p2p"),
        optional("expert", &Parallelism::expert,
                 "ranks that share the experts of a layer: consecutive data (and context) ranks of a tensor "
                 "group and stage; divides the model's 'experts'")
            .between(1, most),
        optional("expert_tensor", &Parallelism::expert_tensor,
                 "ranks of a tensor group that divide each expert: tensor, or 1: each then has experts of "
                 "its own, and groups of expert consist of consecutive ranks of a stage; default: tensor")
            .between(1, most),
        optional("dispatcher", &Parallelism::dispatcher,
                 "how tokens reach the ranks of their experts; default: as the stack has it"),
        optional("expert_overlap", &Parallelism::expert_overlap,
                 "computation that runs while tokens travel to and from their experts"),
        optional("order", &Parallelism::order,
                 "axes from the innermost, whose groups have consecutive ranks, to the outermost"),
        optional("sequence", &Parallelism::sequence,
                 "true: ranks of a tensor group share the tokens between tensor-parallel layers"),
        optional("schedule", &Parallelism::schedule,
                 "order of the passes on a stage; default: 1f1b, with virtual stages interleaved"),
        optional("stages", &Parallelism::stages,
                 "blocks of each virtual stage in the model's order; the first also has the embedding, the "
                 "last the loss; default: equal parts"),
        optional("unequal_stages", &Parallelism::unequal_stages,
                 "true: if the blocks do not divide evenly, virtual stages are as equal as possible, the "
                 "larger ones in the middle (10 blocks in 4 stages: 2, 3, 3, 2), also with up to two virtual "
                 "stages more than blocks; default: refused"),
        optional("first_layers", &Parallelism::first_layers,
                 "name of the first layer of each virtual stage but the first, instead of 'stages', for any "
                 "model; no cut is inside a block, where several tensors pass"),
        optional("recompute", &Parallelism::recompute,
                 "activations that backward computes again instead of keeping them"),
        optional("recompute_modules", &Parallelism::recompute_modules,
                 "parts of each block that recompute: selective computes again (Megatron-LM's "
                 "--recompute-modules); default: [core_attn]"),
        optional("recompute_layers", &Parallelism::recompute_layers,
                 "blocks of each virtual stage that are computed again with recompute: full, from its first "
                 "block on (Megatron-LM's recompute_method block); default: all")
            .between(1, most),
        optional("recompute_every", &Parallelism::recompute_every,
                 "with recompute: full, one block in so many is computed again, the last of each "
                 "(torchtitan's selective_ac_option as a number); default: all")
            .between(1, most),
        optional(
            "shard", &Parallelism::shard,
            "what replicas divide instead of each holding it; default: the stack's (key shard), with one "
            "stage; gradients and parameters need one stage; "
            "gradients saves no memory, with a warning, if the stack's buffers and buckets hold all of "
            "them at once"),
        optional("shard_over", &Parallelism::shard_over, "which replicas divide it"),
        optional("routing", &Parallelism::routing, "how tokens spread over experts; default: evenly"),
        optional("layers", &Parallelism::layers,
                 "layers whose parameters replicas divide instead of each holding them; the first rule that "
                 "matches a layer counts"),
        optional("layer_group", &Parallelism::layer_group,
                 "consecutive replicas that divide these layers; groups hold copies; default: all replicas")
            .between(1, most));
  }
};

}  // namespace trainyard::config
