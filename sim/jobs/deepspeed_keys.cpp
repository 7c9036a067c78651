#include "jobs/key_rules.hpp"

namespace trainyard::jobs {
namespace {

// Source: www.deepspeed.ai/docs/config-json and deepspeed/runtime/zero/config.py.
constexpr KeyRule deepspeed_rules[] = {
    taken("train_batch_size", "@global_batch"),
    taken("train_micro_batch_size_per_gpu", "batch_per_gpu"),
    taken("gradient_accumulation_steps", "accumulation"),
    on("bf16.enabled", "@precision", "bf16"),
    on("bfloat16.enabled", "@precision", "bf16"),
    on("fp16.enabled", "@precision", "fp16"),
    on("fp16.auto_cast", "@precision", "amp"),
    on("amp.enabled", "@precision", "amp"),
    taken("zero_optimization.stage", "parallelism.shard"),
    on("zero_optimization.overlap_comm", "stack.overlap"),
    taken("zero_optimization.reduce_bucket_size", "@reduce_bucket"),
    taken("zero_optimization.zero_hpz_partition_size", "@hpz"),
    taken("offload_optimizer.device", "@offload"),
    taken("offload_param.device", "@offload"),
    taken("offload_optimizer", "@offload"),
    differs("zero_optimization.zero_quantized_weights", shorter),
    differs("zero_optimization.zero_quantized_gradients", shorter),
    no_effect("zero_optimization.*"),
    taken("optimizer.type", "optimizer"),
    no_effect("optimizer.params.*"),
    taken("communication_data_type", "@reduce_dtype"),
    taken("sequence_parallel_size", "parallelism.context"),
    taken("tensor_parallel.autotp_size", "parallelism.tensor"),
    differs("activation_checkpointing.cpu_checkpointing", longer_and_less_memory),
    no_effect("activation_checkpointing.*"),
    differs("sparse_attention.*", shorter),
    differs("compression_training.*", shorter),
    no_effect("gradient_clipping"),
    no_effect("prescale_gradients"),
    no_effect("gradient_predivide_factor"),
    no_effect("sparse_gradients"),
    no_effect("steps_per_print"),
    no_effect("wall_clock_breakdown"),
    no_effect("dump_state"),
    no_effect("zero_allow_untested_optimizer"),
    no_effect("zero_force_ds_cpu_optimizer"),
    no_effect("fp16.*"),
    no_effect("bf16.*"),
    no_effect("amp.*"),
    no_effect("scheduler.*"),
    no_effect("flops_profiler.*"),
    no_effect("comms_logger.*"),
    no_effect("tensorboard.*"),
    no_effect("wandb.*"),
    no_effect("csv_monitor.*"),
    no_effect("monitor_config.*"),
    no_effect("checkpoint.*"),
    no_effect("data_types.*"),
    no_effect("aio.*"),
    no_effect("elasticity.*"),
    no_effect("autotuning.*"),
    no_effect("seed"),
    no_effect("dataloader_drop_last"),
};

}  // namespace

std::span<const KeyRule> deepspeed_keys() { return deepspeed_rules; }

}  // namespace trainyard::jobs
