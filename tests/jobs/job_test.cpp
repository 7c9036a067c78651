#include "jobs/job.hpp"

#include "errors_of.hpp"
#include "jobs/model_parts.hpp"
#include "shipped_catalogue.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {
namespace {

using testing::shipped_catalogue;

std::filesystem::path written(const TemporaryFolder& folder, const std::string& name,
                              const std::string& text) {
  std::ofstream(folder.path / name) << text;
  return folder.path / name;
}

/// Whether a text has all of these, in any order.
bool has_all(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::all_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

ImportedJob job_of(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  const auto file = written(folder, name, text);
  return read_job(shipped_catalogue(), file);
}

/// The experiment without its first line, which names the tool.
std::string experiment_of(const std::string& name, const std::string& text) {
  const std::string experiment = job_of(name, text).experiment;
  return experiment.substr(experiment.find('\n') + 1);
}

const Account& entry(const ImportedJob& job, std::string_view key) {
  const auto found =
      std::ranges::find_if(job.account, [&](const Account& one) { return one.setting.key == key; });
  REQUIRE(found != job.account.end());
  return *found;
}

TEST_CASE("Megatron-LM: a script with arrays, variables and a launcher") {
  const std::string script = R"(#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
TP=2; PP=4
ARGS=(
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
  --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm
  --position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear
  --attention-dropout 0 --hidden-dropout 0 --seq-length 4096 --vocab-size 128256
)
srun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES pretrain_gpt.py "${ARGS[@]}" \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} --sequence-parallel \
  --num-layers-per-virtual-pipeline-stage 4 --use-distributed-optimizer --overlap-grad-reduce \
  --micro-batch-size 1 --global-batch-size $((128*4)) --bf16 --recompute-granularity selective \
  --tp-comm-overlap --lr 3e-4 --transformer-impl transformer_engine
)";
  CHECK(experiment_of("train.sh", script) == R"(nodes: 4
gpus_per_node: 8
model: llama3_8b
sequence_length: 4096
stack: megatron_core
precision: bf16
global_batch: 512
batch_per_gpu: 1
parallelism: {tensor: 2, pipeline: 4, sequence: true, shard: optimizer, recompute: selective, virtual_stages: 2}
set: {stack.overlap: true}
)");
  const ImportedJob job = job_of("train.sh", script);
  CHECK(job.tool == "arguments of Megatron-LM, started by srun");
  CHECK(job.warnings.empty());
  CHECK(entry(job, "num_layers_per_virtual_pipeline_stage").text == "parallelism.virtual_stages=2");
  CHECK(entry(job, "global_batch_size").text == "global_batch=512");
  CHECK(entry(job, "tp_comm_overlap").fate == Fate::not_modelled);
  CHECK(entry(job, "tp_comm_overlap").text == "a real step is shorter");
  CHECK(entry(job, "lr").fate == Fate::no_effect);
  CHECK(entry(job, "slurm.nodes").setting.line == 2);
}

TEST_CASE("Megatron-LM: sizes of no shipped model, and what the job does not say") {
  const ImportedJob job =
      job_of("train.sh",
             "torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 12 --hidden-size 1024 "
             "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 4096 "
             "--micro-batch-size 4 --fp16 --no-such-option 3\n");
  CHECK(has_all(job.experiment, {"model: gpt_by_sizes", "model.decoder.hidden: 1024",
                                 "model.decoder.vocabulary: 50257", "model.decoder.pad_vocabulary: 128",
                                 "model.decoder.positions: 4096", "precision: fp16", "gpus_per_node: 8"}));
  CHECK(job.warnings.size() == 1);
  CHECK(has_all(job.warnings.front(), {"train.sh:1:", "'no_such_option' is not known"}));
  CHECK(std::ranges::any_of(job.assumptions,
                            [](const Assumption& one) { return one.key == "model.decoder.vocabulary"; }));
}

TEST_CASE("a job whose own GPUs do not hold one replica") {
  const ImportedJob job =
      job_of("train.sh",
             "torchrun --nproc_per_node=8 --nnodes 1 pretrain_gpt.py --num-layers 96 --hidden-size 12288 "
             "--num-attention-heads 96 --seq-length 2048 --micro-batch-size 1 --global-batch-size 1536 "
             "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --fp16\n");
  CHECK(has_all(job.experiment, {"model: gpt3_175b", "global_batch: 1536"}));
  REQUIRE(job.contradictions.size() == 1);
  CHECK(has_all(job.contradictions.front().message, {"a replica needs 128 GPUs", "the 8 of the job"}));
}

TEST_CASE("NeMo and Megatron-Bridge") {
  CHECK(experiment_of("nemo.yaml", R"(trainer: {devices: 8, num_nodes: 2, precision: bf16, max_steps: 100}
exp_manager: {name: run}
model:
  micro_batch_size: 2
  global_batch_size: 64
  tensor_model_parallel_size: 4
  encoder_seq_length: 4096
  num_layers: 40
  hidden_size: 5120
  ffn_hidden_size: 13824
  num_attention_heads: 40
  activation: swiglu
  normalization: rmsnorm
  bias: false
  position_embedding_type: rope
  share_embeddings_and_output_weights: false
  hidden_dropout: 0.0
  attention_dropout: 0.0
  vocab_size: 32000
  optim: {name: distributed_fused_adam, lr: 1e-4, sched: {name: CosineAnnealing, max_steps: 5}}
)") == R"(nodes: 2
gpus_per_node: 8
model: llama2_13b
sequence_length: 4096
stack: megatron_core
precision: bf16
optimizer: adam
global_batch: 64
batch_per_gpu: 2
parallelism: {tensor: 4, shard: optimizer}
job: {steps: 100}
)");
}

TEST_CASE("torchtitan") {
  const std::string toml = R"([model]
name = "llama3"
flavor = "8B"
converters = ["float8"]
[training]
local_batch_size = 4
seq_len = 8192
steps = 1000
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = -1
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "Interleaved1F1B"
enable_async_tensor_parallel = true
[activation_checkpoint]
mode = "full"
[optimizer]
name = "AdamW"
lr = 3e-4
)";
  CHECK(experiment_of("job.toml", toml) == R"(model: llama3_8b
sequence_length: 8192
stack: torchtitan
precision: fp8
optimizer: adam
batch_per_gpu: 1
accumulation: 4
parallelism: {pipeline: 2, shard: optimizer, shard_over: node, schedule: interleaved, virtual_stages: 2, recompute: full}
job: {steps: 1000}
)");
  CHECK(entry(job_of("job.toml", toml), "parallelism.enable_async_tensor_parallel").fate ==
        Fate::not_modelled);
  CHECK_THROWS_WITH_AS(job_of("job.toml", "[model]\nname = \n[training]\n"), doctest::Contains("job.toml:2"),
                       InputError);
}

TEST_CASE("DeepSpeed: the number of GPUs follows from three batches") {
  CHECK(experiment_of("ds.json", R"({"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4,
 "gradient_accumulation_steps": 16, "bf16": {"enabled": true}, "fp16": {"enabled": false},
 "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": 5e8,
                       "offload_optimizer": {"device": "none"}},
 "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}})") == R"(gpus: 8
stack: deepspeed
precision: bf16
optimizer: adam
batch_per_gpu: 4
accumulation: 16
parallelism: {shard: parameters}
set:
  stack.overlap: true
  stack.bucket_first: 1000 MB
  stack.bucket_cap: 1000 MB
  stack.units.reduced_parameters: 500000000
)");
}

TEST_CASE("DeepSpeed: sizes of 0 and an overlap that is off count") {
  const auto zero = [](const std::string& settings, int stage = 3) {
    return job_of("ds.json",
                  fmt::format("{{\"train_batch_size\": 512, \"train_micro_batch_size_per_gpu\": 4,"
                              "\"gradient_accumulation_steps\": 16, \"bf16\": {{\"enabled\": true}},"
                              "\"zero_optimization\": {{\"stage\": {}, {}}}}}",
                              stage, settings));
  };
  const ImportedJob none = zero(
      R"("stage3_max_live_parameters": 0, "stage3_prefetch_bucket_size": 0, "reduce_bucket_size": 0,
         "stage3_param_persistence_threshold": 0, "overlap_comm": false, "stage3_max_reuse_distance": 0)");
  CHECK(has_all(none.experiment, {"stack.units.live_parameters: 1\n", "stack.units.unit_parameters: 1\n",
                                  "stack.units.whole_below: 0\n", "stack.units.reduced_parameters: 1\n",
                                  "stack.overlap: false"}));
  CHECK(entry(none, "zero_optimization.overlap_comm").fate == Fate::taken);
  CHECK(entry(none, "zero_optimization.stage3_max_reuse_distance").fate == Fate::no_effect);
  // stages 1 and 2 do not overlap by themselves
  const ImportedJob two = zero(R"("overlap_comm": false)", 2);
  CHECK(two.experiment.find("overlap") == std::string::npos);
  CHECK(zero(R"("overlap_comm": true)", 2).experiment.find("stack.overlap: true") != std::string::npos);
  for (const char* const distance : {"5e8", "2e9"}) {
    const ImportedJob other = zero(fmt::format(R"("stage3_max_reuse_distance": {})", distance));
    CHECK(entry(other, "zero_optimization.stage3_max_reuse_distance").fate == Fate::not_modelled);
  }
}

TEST_CASE("Megatron-LM: recipes of Transformer Engine become precisions") {
  const auto precision = [](const std::string& options) {
    const std::string text =
        job_of("run.sh",
               "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
               "--num-attention-heads 16 --seq-length 1024 --micro-batch-size 1 --bf16 " +
                   options + "\n")
            .experiment;
    const std::string key = "\nprecision: ";
    const std::size_t at = text.find(key) + key.size();
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(precision("--fp8-format e4m3 --fp8-recipe mxfp8") == "mxfp8");
  CHECK(precision("--fp8-format e4m3 --fp8-recipe blockwise") == "fp8");
  CHECK(precision("--fp8-format hybrid") == "fp8");
  CHECK(precision("--fp8-recipe mxfp8") == "bf16");
  CHECK(precision("--fp4-format e2m1 --fp4-recipe nvfp4") == "nvfp4");
}

TEST_CASE("Accelerate starts a trainer; its own file is read") {
  const TemporaryFolder folder;
  written(folder, "fsdp.yaml",
          "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n"
          "  fsdp_version: 2\n  fsdp_reshard_after_forward: false\nmixed_precision: bf16\n"
          "num_machines: 2\nnum_processes: 16\n");
  const auto file = written(folder, "run.sh",
                            "accelerate launch --config_file fsdp.yaml run_clm.py --model_name_or_path "
                            "meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 2 "
                            "--gradient_accumulation_steps 4 --block_size 2048 --gradient_checkpointing "
                            "--learning_rate 1e-5 --output_dir out\n");
  const ImportedJob job = read_job(shipped_catalogue(), file);
  CHECK(has_all(job.experiment, {"nodes: 2", "gpus_per_node: 8", "model: llama3_8b", "stack: torchtitan",
                                 "precision: bf16", "batch_per_gpu: 2", "accumulation: 4", "shard: gradients",
                                 "recompute: full", "sequence_length: 2048"}));
  CHECK(job.warnings.empty());
  CHECK(entry(job, "mixed_precision").setting.line == 6);
}

TEST_CASE("DeepSpeed's file is in the script") {
  const ImportedJob job =
      job_of("run.sh",
             "STAGE=1\ncat <<EOT > ds.json\n{\"zero_optimization\": {\"stage\": $STAGE},\n"
             "\"fp16\": {\"enabled\": true}}\nEOT\ndeepspeed --num_gpus 4 --num_nodes 2 "
             "train.py --deepspeed ds.json --model_name_or_path gpt2-medium "
             "--per_device_train_batch_size 8\n");
  CHECK(has_all(job.experiment, {"nodes: 2", "gpus_per_node: 4", "model: gpt2_medium", "stack: deepspeed",
                                 "precision: fp16", "batch_per_gpu: 8", "shard: optimizer"}));
  CHECK(entry(job, "zero_optimization.stage").setting.line == 3);
}

TEST_CASE("LLaMA-Factory and axolotl: adapters are said to be left out") {
  const ImportedJob job =
      job_of("sft.yaml",
             "model_name_or_path: mistralai/Mistral-7B-v0.1\nstage: sft\nfinetuning_type: lora\n"
             "deepspeed: examples/ds_z3_config.json\ncutoff_len: 4096\n"
             "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n");
  CHECK(has_all(job.experiment,
                {"model: mistral_7b", "stack: deepspeed", "precision: bf16", "shard: parameters"}));
  CHECK(entry(job, "finetuning_type").fate == Fate::not_modelled);
  CHECK(job.warnings.size() == 1);  // the stage comes from the file's name
  const ImportedJob axolotl =
      job_of("fft.yml",
             "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nmicro_batch_size: 2\n"
             "gradient_accumulation_steps: 4\nbf16: auto\ntf32: false\nfsdp: [full_shard, auto_wrap]\n"
             "flash_attention: true\noptimizer: paged_adamw_8bit\nsample_packing: true\n");
  CHECK(has_all(axolotl.experiment, {"model: llama2_7b", "stack: pytorch_fsdp", "batch_per_gpu: 2",
                                     "accumulation: 4", "shard: parameters"}));
  CHECK(has_all(entry(axolotl, "optimizer").text, {"needs less memory"}));
}

TEST_CASE("the stack of torchtune is the nearest, that of MaxText its own") {
  const ImportedJob tune =
      job_of("full.yaml",
             "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: 2\n"
             "dtype: bf16\nenable_activation_checkpointing: True\n"
             "optimizer: {_component_: torch.optim.AdamW, lr: 2e-5}\n");
  CHECK(has_all(tune.experiment, {"model: llama3_8b", "precision: pure_bf16", "optimizer: adam",
                                  "recompute: full", "shard: parameters"}));
  CHECK(std::ranges::any_of(tune.assumptions,
                            [](const Assumption& one) { return one.key == "parallelism.shard"; }));
  const ImportedJob maxtext =
      job_of("job.yml",
             "base_config: base.yml\nmodel_name: llama2-7b\nper_device_batch_size: 4\n"
             "ici_fsdp_parallelism: 4\nici_tensor_parallelism: 2\ndcn_data_parallelism: -1\n"
             "max_target_length: 2048\nremat_policy: full\n");
  CHECK(has_all(maxtext.experiment, {"model: llama2_7b", "batch_per_gpu: 8", "tensor: 2", "shard: parameters",
                                     "recompute: full", "sequence_length: 2048", "stack: jax_xla"}));
}

TEST_CASE("Megatron-LM: latent attention, dense blocks, biases and structure tell models apart") {
  const ImportedJob deepseek = job_of(
      "v3.sh",
      "torchrun --nproc_per_node 8 --nnodes 128 pretrain_gpt.py --num-layers 61 --hidden-size 7168 "
      "--ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128 --swiglu --normalization RMSNorm "
      "--position-embedding-type rope --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 "
      "--num-experts 256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 --moe-layer-freq '([0]*3+[1]*58)' "
      "--moe-shared-expert-intermediate-size 2048 --moe-router-enable-expert-bias --vocab-size 129280 "
      "--seq-length 4096 --micro-batch-size 1 --global-batch-size 8192 --bf16 --disable-bias-linear "
      "--untie-embeddings-and-output-weights --attention-dropout 0 --hidden-dropout 0 --use-flash-attn\n");
  CHECK(has_all(deepseek.experiment, {"model: deepseek_v3", "global_batch: 8192"}));
  CHECK(deepseek.experiment.find("latent") == std::string::npos);
  CHECK(deepseek.warnings.empty());
  const std::string sizes =
      "torchrun pretrain_gpt.py --num-layers 28 --hidden-size 3584 --ffn-hidden-size 18944 "
      "--num-attention-heads 28 --group-query-attention --num-query-groups 4 --swiglu --normalization "
      "RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --attention-dropout 0 "
      "--hidden-dropout 0 "
      "--position-embedding-type rope --seq-length 4096 --micro-batch-size 1 --vocab-size 152064 ";
  CHECK(has_all(job_of("q.sh", sizes + "--add-qkv-bias\n").experiment, {"model: qwen25_7b"}));
  CHECK(has_all(job_of("q.sh", sizes + "\n").experiment, {"model: gpt_by_sizes"}));
}

TEST_CASE("Megatron-LM: sizes of a model, with the tool's positions and biases, are not this model") {
  const ImportedJob job = job_of(
      "a.sh",
      "torchrun pretrain_gpt.py --num-layers 126 --hidden-size 16384 --ffn-hidden-size 53248 "
      "--num-attention-heads 128 --group-query-attention --num-query-groups 8 --seq-length 8192 --swiglu "
      "--normalization RMSNorm --micro-batch-size 1\n");
  CHECK(has_all(job.experiment, {"model: gpt_by_sizes", "model.decoder.layers: 126"}));
}

TEST_CASE("Megatron-Bridge: a recipe with overrides in a loop of a Slurm script") {
  const ImportedJob job = job_of("slurm.sh", R"sh(#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
NAME=gpt_oss_20b
RECIPE="${RECIPE:-${NAME}_pretrain_config}"
CONFIGS=("2,2,4,1,True" "4,2,4,1,True")
for CONFIG in "${CONFIGS[@]}"; do
  IFS=',' read -r TP PP EP CP SP <<< "$CONFIG"
  OVERRIDES=" \
    train.global_batch_size=128 train.micro_batch_size=1 \
    model.tensor_model_parallel_size=$TP model.pipeline_model_parallel_size=$PP \
    model.expert_model_parallel_size=$EP model.context_parallel_size=$CP model.sequence_parallel=$SP
  "
  CMD="python run_recipe.py --recipe ${RECIPE} --mode pretrain"
  CMD="$CMD $(echo "$OVERRIDES" | tr '\n' ' ')"
  srun --mpi=pmix bash -c "$CMD"
done
)sh");
  CHECK(job.tool == "a job of NeMo or Megatron-Bridge, started by srun");
  CHECK(has_all(job.experiment,
                {"nodes: 4", "model: gpt_oss_20b", "precision: bf16", "batch_per_gpu: 1", "global_batch: 128",
                 "tensor: 2, pipeline: 2, expert: 4, sequence: true, expert_tensor: 1"}));
  CHECK(std::ranges::any_of(job.warnings, [](const std::string& warning) {
    return warning.starts_with("the value of $CONFIG depends");
  }));
}

TEST_CASE("Megatron-LM: blocks with experts") {
  CHECK(*expert_blocks("2", 4) == std::vector<bool>{true, false, true, false});
  CHECK(*expert_blocks("([0]*1+[1]*3)", 4) == std::vector<bool>{false, true, true, true});
  CHECK(*expert_blocks("[0,1]*2", 4) == std::vector<bool>{false, true, false, true});
  CHECK(*expert_blocks("[0, 1, 1]", 3) == std::vector<bool>{false, true, true});
  CHECK_FALSE(expert_blocks("[0]*2", 4));
  CHECK_FALSE(expert_blocks("[x]", 1));
}

TEST_CASE("Megatron-LM: groups of experts count where tokens are sent once to each node") {
  const auto job = [](const std::string& dispatcher) {
    return job_of("pretrain.sh",
                  "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 8 --hidden-size 2048 "
                  "--num-attention-heads 16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 256 "
                  "--vocab-size 50000 --bf16 --num-experts 64 --moe-router-topk 8 --moe-router-num-groups 8 "
                  "--moe-router-group-topk 4 --expert-model-parallel-size 8 --moe-token-dispatcher-type " +
                      dispatcher + "\n");
  };
  CHECK(has_all(job("flex").experiment, {"groups: 8", "group_limit: 4"}));
  CHECK_FALSE(has_all(job("alltoall").experiment, {"groups: 8"}));
  CHECK(entry(job("alltoall"), "moe_router_num_groups").fate == Fate::no_effect);
}

TEST_CASE("LLaMA-Factory's form of 2026") {
  const ImportedJob job = job_of("v1.yaml", R"(model: Qwen/Qwen3-0.6B
model_class: llm
peft_config: {name: lora, r: 16}
kernel_config: {name: auto}
dist_config: {name: fsdp2, dcp_path: null}
train_dataset: data/demo.yaml
output_dir: out
micro_batch_size: 1
cutoff_len: 2048
learning_rate: 1.0e-4
bf16: true
max_steps: 10
cp_mode: ulysses
cp_size: 2
)");
  CHECK(has_all(job.experiment,
                {"model: qwen3_0_6b", "stack: torchtitan", "precision: bf16", "batch_per_gpu: 1",
                 "shard: parameters", "context: 2", "context_exchange: a2a"}));
  CHECK(entry(job, "peft_config.name").fate == Fate::not_modelled);
  CHECK(entry(job, "kernel_config.name").text == "a real step is shorter");
  CHECK(job.warnings.empty());
}

TEST_CASE("nanotron and llm.c have stacks, Lightning Fabric those that it starts") {
  const ImportedJob nanotron = job_of("nanotron.yaml", R"(model:
  dtype: bfloat16
  model_config:
    hidden_size: 2048
    intermediate_size: 8192
    num_attention_heads: 32
    num_hidden_layers: 24
    num_key_value_heads: 32
    tie_word_embeddings: true
    vocab_size: 49152
optimizer: {accumulate_grad_in_fp32: true, zero_stage: 1}
parallelism: {dp: 4, tp: 2, pp: 1, tp_mode: REDUCE_SCATTER}
tokens: {batch_accumulation_per_replica: 2, micro_batch_size: 4, sequence_length: 2048, train_steps: 100}
)");
  CHECK(has_all(nanotron.experiment,
                {"gpus: 8", "model: smollm2_1_7b", "stack: nanotron", "precision: bf16", "batch_per_gpu: 4",
                 "accumulation: 2", "tensor: 2", "sequence: true", "shard: optimizer", "steps: 100"}));
  CHECK(nanotron.warnings.empty());
  const ImportedJob llmc =
      job_of("run.sh",
             "make train_gpt2cu USE_CUDNN=1\nwhile true; do\n    mpirun -np 8 ./train_gpt2cu "
             "-i \"data_*.bin\" -v 250 -b 64 -t 1024 -d 524288 -z 1 -e \"d12\"\ndone\n");
  CHECK(has_all(llmc.experiment, {"gpus: 8", "model: gpt2_small", "stack: llm_c", "precision: bf16",
                                  "batch_per_gpu: 64", "global_batch: 512", "shard: optimizer"}));
  for (const char* const tokens : {"500000", "98304"}) {  // of 64 x 1,024: train_gpt2.cu asserts whole ones
    const auto errors = errors_of([&] {
      job_of("run.sh", fmt::format("mpirun -np 8 ./train_gpt2cu -b 64 -t 1024 -d {} -e \"d12\"\n", tokens));
    });
    REQUIRE(errors.size() == 1);
    CHECK(errors.front().message.find("64 x 1024") != std::string::npos);
    CHECK(errors.front().line == 1);
  }
  const ImportedJob fabric = job_of(
      "run.sh", "fabric run --devices=4 --num-nodes=2 --strategy=fsdp --precision=bf16-mixed train.py\n");
  CHECK(
      has_all(fabric.experiment, {"nodes: 2", "gpus_per_node: 4", "stack: pytorch_fsdp", "precision: bf16"}));
  CHECK(std::ranges::any_of(fabric.warnings, [](const std::string& warning) {
    return warning.starts_with("Lightning Fabric has no stack");
  }));
}

TEST_CASE("a script of MaxText names the configuration of its model") {
  const std::string script =
      "export RUN=a\npython3 -m maxtext.trainers.pre_train.train \"${DIR:-x}\"/models/gpu/llama2_7b.yml "
      "run_name=$RUN dcn_data_parallelism=1 ici_fsdp_parallelism=8 per_device_batch_size=4\n";
  const ImportedJob alone = job_of("1vm.sh", script);
  CHECK(has_all(alone.experiment, {"model: llama2_7b", "batch_per_gpu: 4", "shard: parameters"}));
  CHECK(has_all(alone.warnings.front(), {"'llama2_7b.yml' is not here"}));
  const TemporaryFolder folder;
  written(
      folder, "llama2_7b.yml",
      "base_config: base.yml\nmodel_name: llama2-7b\nper_device_batch_size: 6\nmax_target_length: 2048\n");
  const ImportedJob both = read_job(shipped_catalogue(), written(folder, "1vm.sh", script));
  CHECK(has_all(both.experiment, {"batch_per_gpu: 4", "sequence_length: 2048"}));
  CHECK(both.warnings.empty());
}

TEST_CASE("what is computed again: torchtitan's and Megatron-Core's choices") {
  const std::string titan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n";
  CHECK(has_all(job_of("a.toml", titan).experiment, {"recompute: alternate"}));
  const std::string chosen = titan + "[activation_checkpoint]\nmode = \"selective\"\n";
  CHECK(has_all(job_of("a.toml", chosen).experiment, {"recompute: alternate"}));
  CHECK(has_all(job_of("a.toml", chosen + "selective_ac_option = \"op\"\n").experiment,
                {"recompute: alternate"}));
  const std::string megatron =
      "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length "
      "2048 "
      "--micro-batch-size 1 --recompute-granularity selective --recompute-modules ";
  CHECK(has_all(job_of("a.sh", megatron + "core_attn\n").experiment, {"recompute: selective"}));
  CHECK(has_all(job_of("a.sh", megatron + "moe_act layernorm\n").experiment,
                {"recompute: selective", "recompute_modules: [moe_act, layernorm]"}));
  const ImportedJob some = job_of("a.sh", megatron + "core_attn shared_experts\n");
  CHECK(has_all(some.experiment, {"recompute: selective", "recompute_modules: [core_attn]"}));
  CHECK(has_all(entry(some, "recompute_modules").text, {"core_attn alone", "less memory"}));
  const ImportedJob others = job_of("a.sh", megatron + "shared_experts\n");
  CHECK(others.experiment.find("recompute") == std::string::npos);
  CHECK(has_all(entry(others, "recompute_modules").text, {"less memory"}));
}

TEST_CASE("a note says what is not modelled of a job, by its effect") {
  const ImportedJob job =
      job_of("a.toml",
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
             "[parallelism]\nenable_async_tensor_parallel = true\ndisable_loss_parallel = true\n"
             "[float8]\nenable_fsdp_float8_all_gather = true\n[activation_checkpoint]\nmode = \"none\"\n");
  CHECK(note_on(job) ==
        "assumed, not in the job: training.seq_len 2048, parallelism.shard parameters, precision bf16; "
        "not modelled of a.toml: a real step is shorter (enable_async_tensor_parallel, "
        "enable_fsdp_float8_all_gather); a real step is longer (disable_loss_parallel)");
  CHECK(note_on(job_of("a.json",
                       R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}})")) ==
        "assumed, not in the job: precision fp32");
}

TEST_CASE("a file that is no job is named") {
  CHECK_THROWS_WITH_AS(job_of("a.txt", ":::MLLOG {\"key\": 1}\n"), doctest::Contains("a log of MLPerf"),
                       InputError);
  CHECK_THROWS_WITH_AS(job_of("a.yaml", "x: 1\n"), doctest::Contains("not a job"), InputError);
}

TEST_CASE("TrainingArguments as JSON: a stage of ZeRO is no stage of LLaMA-Factory, and FSDP has its file") {
  const TemporaryFolder folder;
  written(folder, "ds.json", R"({"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}})");
  written(folder, "fsdp.json",
          R"({"activation_checkpointing": true, "fsdp_sharding_strategy": "HYBRID_SHARD"})");
  const auto job = [&](const std::string& more) {
    return read_job(shipped_catalogue(),
                    written(folder, "args.json",
                            R"({"model_name_or_path": "Qwen/Qwen2.5-7B", "per_device_train_batch_size": 1,
 "bf16": true, "max_seq_length": 4096, )" +
                                more + "}\n"));
  };
  const ImportedJob zero = job(R"("deepspeed": "ds.json")");
  CHECK(has_all(zero.experiment, {"stack: deepspeed", "shard: parameters", "model: qwen25_7b"}));
  CHECK_FALSE(has_all(zero.experiment, {"recompute"}));
  CHECK(std::ranges::none_of(zero.assumptions,
                             [](const Assumption& one) { return one.key == "finetuning_type"; }));
  CHECK(has_all(job(R"("fsdp": "full_shard", "fsdp_config": "fsdp.json")").experiment,
                {"stack: pytorch_fsdp", "recompute: full", "shard_over: node"}));
  const ImportedJob missing = job(R"("fsdp": "full_shard", "fsdp_config": "none_such.json")");
  REQUIRE(missing.warnings.size() == 1);
  CHECK(missing.warnings.front().find("none_such.json") != std::string::npos);
  CHECK(job(R"("fsdp": [], "fsdp_config": {"min_num_params": 0}, "fp16_opt_level": "O1", "use_cpu": false,
 "half_precision_backend": "auto", "gradient_checkpointing_kwargs": null, "label_smoothing_factor": 0.0)")
            .warnings.empty());
}

TEST_CASE("overrides of Megatron-Bridge are its job, and its program names the model") {
  const ImportedJob job =
      job_of("run.sh",
             "uv run python -m torch.distributed.run --nproc_per_node=8 recipes/pretrain_llama3_8b.py \\\n"
             "  model.tensor_model_parallel_size=2 model.num_query_groups=8 train.global_batch_size=512 "
             "train.micro_batch_size=1\n");
  CHECK(job.tool.starts_with("a job of NeMo or Megatron-Bridge"));
  CHECK(has_all(job.experiment, {"model: llama3_8b", "tensor: 2", "global_batch: 512", "precision: bf16"}));
  CHECK(job.warnings.empty());
  const ImportedJob sizes =
      job_of("run.sh",
             "torchrun --nproc_per_node=8 pretrain.py model.num_layers=32 model.hidden_size=4096 "
             "model.num_attention_heads=32 model.num_query_groups=8 model.ffn_hidden_size=14336 "
             "model.seq_length=4096 train.global_batch_size=512 train.micro_batch_size=1\n");
  CHECK(has_all(sizes.experiment, {"kv_heads: 8", "precision: bf16"}));
}

}  // namespace
}  // namespace trainyard::jobs
