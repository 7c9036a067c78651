#include "jobs/key_rules.hpp"

namespace trainyard::jobs {
namespace {

// Source: huggingface/nanotron, src/nanotron/config/config.py, models_config.py and parallelism_config.py.
constexpr KeyRule nanotron_rules[] = {
    taken("model_config.num_hidden_layers", "model.decoder.layers"),
    taken("model_config.hidden_size", "model.decoder.hidden"),
    taken("model_config.intermediate_size", "model.decoder.ffn"),
    taken("model_config.num_attention_heads", "model.decoder.heads"),
    taken("model_config.num_key_value_heads", "model.decoder.kv_heads"),
    taken("model_config.vocab_size", "model.decoder.vocabulary"),
    taken("model_config.tie_word_embeddings", "model.decoder.tied"),
    on("model_config.attention_bias", "model.decoder.qkv_bias"),
    on("model_config.use_qk_norm", "model.decoder.qk_norm"),
    taken("moe_config.num_experts", "model.decoder.experts"),
    taken("moe_config.top_k", "model.decoder.experts_per_token"),
    taken("moe_config.moe_intermediate_size", "model.decoder.expert_ffn"),
    taken("moe_config.shared_expert_intermediate_size", "model.decoder.shared_expert_ffn"),
    on("moe_config.enable_shared_expert", "@none"),
    no_effect("moe_config.*"),
    no_effect("model_config.*"),
    taken("model.dtype", "@precision"),
    taken("model.make_vocab_size_divisible_by", "@vocabulary_multiple"),
    taken("model.ddp_bucket_cap_mb", "@bucket_mb"),
    no_effect("model.*"),
    taken("parallelism.dp", "@replicas"),
    taken("parallelism.tp", "parallelism.tensor"),
    taken("parallelism.pp", "parallelism.pipeline"),
    taken("parallelism.context_parallel_size", "parallelism.context"),
    taken("parallelism.expert_parallel_size", "parallelism.expert"),
    taken("parallelism.pp_engine", "@pipeline_schedule"),
    taken("parallelism.tp_mode", "@tensor_mode"),
    differs("parallelism.tp_linear_async_communication", shorter),
    on("parallelism.recompute_layer", "parallelism.recompute", "full"),
    no_effect("parallelism.*"),
    taken("optimizer_factory.name", "optimizer"),
    taken("optimizer.zero_stage", "parallelism.shard"),
    on("optimizer.accumulate_grad_in_fp32", "@fp32_gradients"),
    no_effect("optimizer.*"),
    taken("tokens.sequence_length", "sequence_length"),
    taken("tokens.micro_batch_size", "batch_per_gpu"),
    taken("tokens.batch_accumulation_per_replica", "accumulation"),
    taken("tokens.train_steps", "job.steps"),
    no_effect("tokens.*"),
    no_effect("checkpoints.*"),
    no_effect("data_stages*"),
    no_effect("data.*"),
    no_effect("doremi.*"),
    no_effect("general.*"),
    no_effect("lighteval*"),
    no_effect("logging.*"),
    no_effect("profiler*"),
    no_effect("tokenizer.*"),
    no_effect("metrics_logging*"),
    no_effect("s3_upload*"),
};

}  // namespace

std::span<const KeyRule> nanotron_keys() { return nanotron_rules; }

}  // namespace trainyard::jobs
