#include "jobs/key_rules.hpp"

namespace trainyard::jobs {
namespace {

constexpr std::string_view distilled = "further models have forward passes: a real step is longer";
constexpr std::string_view adapters_of_torchtune =
    "every parameter is trained here: a real step is shorter and needs less memory";
constexpr std::string_view quantized_weights =
    "weights have 16 bits here: a real step is longer and needs less memory";

// Source: pytorch/torchtune recipes/configs and recipes/full_finetune_distributed.py.
constexpr KeyRule torchtune_rules[] = {
    taken("config", "@tool_file"),
    taken("model._component_", "@model"),
    taken("batch_size", "batch_per_gpu"),
    taken("gradient_accumulation_steps", "accumulation"),
    taken("tokenizer.max_seq_len", "sequence_length"),
    taken("dtype", "@dtype"),
    on("enable_activation_checkpointing", "parallelism.recompute", "full"),
    on("enable_activation_offloading", "@offload"),
    on("fsdp_cpu_offload", "@offload"),
    on("compile", "@compile"),
    taken("optimizer._component_", "optimizer"),
    differs("optimizer_in_bwd", less_memory),
    taken("tensor_parallel_dim", "parallelism.tensor"),
    taken("context_parallel_dim", "parallelism.context"),
    taken("data_parallel_shard_dim", "@shard_degree"),
    taken("data_parallel_replicate_dim", "@replicate_degree"),
    taken("fsdp_sharding_strategy", "@fsdp_strategy"),
    taken("fsdp_reshard_after_forward", "@fsdp_strategy"),
    taken("max_steps_per_epoch", "@steps"),
    differs("dataset.packed", "samples are as long as sequence_length here"),
    differs("enable_fp8_training", shorter),
    differs("custom_sharded_layers", "gathers of these layers are larger here"),
    differs("model.lora_*", adapters_of_torchtune),
    differs("model.quantize_base", quantized_weights),
    differs("model.use_dora", adapters_of_torchtune),
    taken("clip_grad_norm", "@clip"),
    differs("teacher_*", distilled),
    differs("kd_*", distilled),
    differs("ref_*", distilled),
    differs("reward_*", distilled),
    differs("value_*", distilled),
    differs("ppo_*", distilled),
    differs("fsdp.cpu_offload", longer_and_less_memory),
    differs("quantizer.*", "quantised training is not simulated: a real step is longer"),
    no_effect("low_cpu_ram"),
    no_effect("collate_fn"),
    no_effect("top_k"),
    no_effect("temperature"),
    no_effect("num_steps"),
    no_effect("max_generated_tokens"),
    no_effect("forward_batch_size"),
    no_effect("name"),
    no_effect("base_model_path"),
    no_effect("whiten_rewards"),
    no_effect("stop_token_ids"),
    no_effect("model.*"),
    no_effect("optimizer.*"),
    no_effect("tokenizer.*"),
    no_effect("checkpointer.*"),
    no_effect("dataset*"),
    no_effect("metric_logger.*"),
    no_effect("lr_scheduler.*"),
    no_effect("loss.*"),
    no_effect("loss"),
    no_effect("profiler.*"),
    no_effect("epochs"),
    no_effect("seed"),
    no_effect("shuffle"),
    no_effect("device"),
    no_effect("output_dir"),
    no_effect("log_*"),
    no_effect("resume_from_checkpoint"),
    no_effect("save_*"),
    no_effect("run_val_every_n_steps"),
    no_effect("batch_size_val"),
    no_effect("tensor_parallel_plan.*"),
};

}  // namespace

std::span<const KeyRule> torchtune_keys() { return torchtune_rules; }

}  // namespace trainyard::jobs
