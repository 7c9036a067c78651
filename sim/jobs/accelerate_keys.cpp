#include "jobs/key_rules.hpp"

namespace trainyard::jobs {
namespace {

// Source: huggingface/accelerate, src/accelerate/commands/config/config_args.py and utils/dataclasses.py.
constexpr KeyRule accelerate_rules[] = {
    taken("num_processes", "gpus"),
    taken("num_machines", "nodes"),
    taken("mixed_precision", "@mixed_precision"),
    taken("distributed_type", "@distributed"),
    taken("gradient_accumulation_steps", "accumulation"),
    taken("fsdp_sharding_strategy", "@fsdp_strategy"),
    taken("fsdp_version", "@fsdp_version"),
    taken("fsdp_reshard_after_forward", "@fsdp_strategy"),
    on("fsdp_activation_checkpointing", "parallelism.recompute", "full"),
    on("fsdp_offload_params", "@offload"),
    on("fsdp_cpu_offload", "@offload"),
    taken("fsdp_forward_prefetch", "@forward_prefetch"),
    taken("fsdp_backward_prefetch", "@backward_prefetch"),
    taken("fsdp_auto_wrap_policy", "@wrap"),
    taken("fsdp_min_num_params", "@unit_parameters"),
    no_effect("fsdp_config.*"),
    no_effect("fsdp_*"),
    taken("zero_stage", "parallelism.shard"),
    taken("offload_optimizer_device", "@offload"),
    taken("offload_param_device", "@offload"),
    taken("deepspeed_config_file", "@deepspeed_file"),
    no_effect("deepspeed_config.*"),
    taken("megatron_lm_tp_degree", "parallelism.tensor"),
    taken("megatron_lm_pp_degree", "parallelism.pipeline"),
    taken("megatron_lm_num_micro_batches", "accumulation"),
    on("megatron_lm_sequence_parallelism", "parallelism.sequence"),
    on("megatron_lm_use_distributed_optimizer", "parallelism.shard", "optimizer"),
    on("megatron_lm_recompute_activations", "@recompute_selective"),
    taken("megatron_lm_gradient_clipping", "@clip"),
    no_effect("megatron_lm_*"),
    taken("parallelism_config_tp_size", "parallelism.tensor"),
    taken("parallelism_config_cp_size", "parallelism.context"),
    taken("parallelism_config_dp_replicate_size", "@replicate_degree"),
    taken("parallelism_config_dp_shard_size", "@shard_degree"),
    no_effect("parallelism_config*"),
    taken("dynamo_backend", "@dynamo"),
    no_effect("dynamo_*"),
    differs("fp8_config.*", "products have 16 bits unless --precision is fp8: a real step is shorter"),
    no_effect("compute_environment"),
    no_effect("debug"),
    no_effect("downcast_bf16"),
    no_effect("enable_cpu_affinity"),
    no_effect("machine_rank"),
    no_effect("main_*"),
    no_effect("same_network"),
    no_effect("gpu_ids"),
    no_effect("rdzv_backend"),
    no_effect("tpu_*"),
    differs("use_cpu", "GPUs compute here: a real step is longer"),
    no_effect("deepspeed_hostfile"),
    no_effect("deepspeed_multinode_launcher"),
    no_effect("zero3_*"),
    taken("gradient_clipping", "@clip"),
};

}  // namespace

std::span<const KeyRule> accelerate_keys() { return accelerate_rules; }

}  // namespace trainyard::jobs
