#include "jobs/key_rules.hpp"

namespace trainyard::jobs {
namespace {

// Sections: jobs/script.cpp. Sources: slurm.schedmd.com/sbatch.html,
// docs.pytorch.org/docs/stable/elastic/run.html, deepspeed/launcher/runner.py, accelerate/commands/launch.py.
constexpr KeyRule launcher_rules[] = {
    taken("slurm.nodes", "nodes"),
    taken("slurm.N", "nodes"),
    taken("slurm.ntasks", "@tasks"),
    taken("slurm.n", "@tasks"),
    taken("slurm.ntasks_per_node", "@tasks_per_node"),
    taken("slurm.tasks_per_node", "@tasks_per_node"),
    taken("slurm.gpus_per_node", "gpus_per_node"),
    taken("slurm.gres", "gpus_per_node"),
    taken("slurm.gpus", "gpus"),
    taken("slurm.G", "gpus"),
    taken("slurm.gpus_per_task", "@gpus_per_task"),
    no_effect("slurm.*"),
    taken("torchrun.nnodes", "nodes"),
    taken("torchrun.nproc_per_node", "gpus_per_node"),
    no_effect("torchrun.*"),
    taken("deepspeed.num_nodes", "nodes"),
    taken("deepspeed.num_gpus", "gpus_per_node"),
    taken("deepspeed.deepspeed_config", "@deepspeed_file"),
    no_effect("deepspeed.*"),
    taken("mpirun.np", "gpus"),
    taken("mpirun.n", "gpus"),
    taken("mpirun.npernode", "gpus_per_node"),
    taken("mpirun.N", "gpus_per_node"),
    no_effect("mpirun.*"),
    taken("fabric.devices", "gpus_per_node"),
    taken("fabric.num_nodes", "nodes"),
    taken("fabric.strategy", "@distributed"),
    taken("fabric.precision", "@precision"),
    no_effect("fabric.*"),
    taken("accelerate.config_file", "@accelerate_file"),
    taken("accelerate.num_processes", "gpus"),
    taken("accelerate.num_machines", "nodes"),
    taken("accelerate.mixed_precision", "@mixed_precision"),
    on("accelerate.use_fsdp", "@distributed", "FSDP"),
    on("accelerate.use_deepspeed", "@distributed", "DEEPSPEED"),
    no_effect("accelerate.multi_gpu"),
    taken("accelerate.fsdp_sharding_strategy", "@fsdp_strategy"),
    taken("accelerate.fsdp_version", "@fsdp_version"),
    taken("accelerate.fsdp_forward_prefetch", "@forward_prefetch"),
    taken("accelerate.fsdp_backward_prefetch", "@backward_prefetch"),
    taken("accelerate.fsdp_auto_wrap_policy", "@wrap"),
    taken("accelerate.fsdp_min_num_params", "@unit_parameters"),
    taken("accelerate.zero_stage", "parallelism.shard"),
    taken("accelerate.deepspeed_config_file", "@deepspeed_file"),
    taken("accelerate.gradient_accumulation_steps", "accumulation"),
    differs("accelerate.fsdp_offload_params", longer_and_less_memory),
    differs("accelerate.offload_optimizer_device", longer_and_less_memory),
    differs("accelerate.offload_param_device", longer_and_less_memory),
    on("accelerate.fsdp_activation_checkpointing", "parallelism.recompute", "full"),
    no_effect("accelerate.*"),
};

}  // namespace

std::span<const KeyRule> launcher_keys() { return launcher_rules; }

}  // namespace trainyard::jobs
