// Settings that depend on each other or contradict each other, defaults, models by their sizes, and errors.

#include "job_text.hpp"

#include <filesystem>

namespace trainyard::jobs {
namespace {

using testing::account_of;
using testing::assumes;
using testing::read_job_text;

bool warns(const ImportedJob& job, std::string_view part) {
  return std::ranges::any_of(
      job.warnings, [&](const std::string& warning) { return warning.find(part) != std::string::npos; });
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

constexpr const char* llama3_sizes =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
    "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu --seq-length 4096 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 ";
constexpr const char* llama3_layers =
    "--normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights "
    "--disable-bias-linear --attention-dropout 0 --hidden-dropout 0 ";

TEST_CASE("settings that no step can have together are contradictions, at their places") {
  const auto contradictions = [](const std::string& more) {
    std::vector<std::string> messages;
    const ImportedJob job = read_job_text("t.sh", std::string(llama3_sizes) + more + "\n");
    for (const Diagnostic& one : job.contradictions) {
      CHECK(one.line == 1);
      messages.push_back(one.message);
    }
    return messages;
  };
  CHECK(contradictions("").empty());
  const auto large = contradictions("--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4");
  REQUIRE(large.size() == 1);
  CHECK(has(large.front(), "16 GPUs"));
  const std::string uneven =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
      "--num-attention-heads 32 --seq-length 4096 --micro-batch-size 3 --global-batch-size 64 --bf16\n";
  const ImportedJob job = read_job_text("t.sh", uneven);
  REQUIRE(job.contradictions.size() == 1);
  CHECK(has(job.experiment, "global_batch: 64"));  // as the job has it: a run refuses it
  const ImportedJob counted = read_job_text(
      "ds.json",
      R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4,
         "zero_optimization": {"stage": 2}})");
  CHECK(counted.contradictions.empty());  // 16 GPUs
}

TEST_CASE("a shipped model only where all its keys agree") {
  const std::string whole = std::string(llama3_sizes) + llama3_layers;
  const ImportedJob sizes =
      read_job_text("t.sh", llama3_sizes);  // LayerNorm, learned positions, biases, tied
  CHECK(has(sizes.experiment, "model: gpt_by_sizes"));
  CHECK(has(read_job_text("t.sh", whole + "--vocab-size 128256").experiment, "model: llama3_8b"));
  CHECK(has(read_job_text("t.sh", whole + "--vocab-size 32000").experiment, "model: mistral_7b"));
  CHECK(has(read_job_text("t.sh", whole + "--tokenizer-model meta-llama/Llama-3.1-8B").experiment,
            "model: llama3"));
  const ImportedJob open = read_job_text("t.sh", whole);  // which of the two, the job does not say
  CHECK(has(open.experiment, "model: gpt_by_sizes"));
  CHECK(warns(open, "different vocabularies"));
  // GPT-345M of Megatron-LM has dropouts, MPT 350m has not
  const ImportedJob gpt = read_job_text(
      "t.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads "
      "16 --seq-length 1024 --micro-batch-size 4 --bf16 --tokenizer-type GPT2BPETokenizer\n");
  CHECK(!has(gpt.experiment, "mpt_350m"));
  CHECK(has(gpt.experiment, "50257"));
}

TEST_CASE("the vocabulary of a shipped model is padded as Megatron-LM does") {
  const ImportedJob job =
      read_job_text("t.sh", std::string(llama3_sizes) + llama3_layers +
                                "--vocab-size 128256 --make-vocab-size-divisible-by 1000");
  CHECK(has(job.experiment, "model.decoder.pad_vocabulary: 1000"));
}

TEST_CASE("the Trainer's words of FSDP are those of its strategies") {
  const auto experiment_with = [](const std::string& fsdp) {
    return read_job_text("ta.yaml",
                         "model_name_or_path: meta-llama/Meta-Llama-3-8B\nbf16: true\n"
                         "per_device_train_batch_size: 1\n" +
                             fsdp)
        .experiment;
  };
  CHECK(has(experiment_with("fsdp: full_shard auto_wrap\n"), "shard: parameters"));
  CHECK(has(experiment_with("fsdp: [shard_grad_op, auto_wrap]\n"), "shard: gradients"));
  CHECK(has(experiment_with("fsdp: hybrid_shard auto_wrap\n"), "shard_over: node"));
  const std::string none = experiment_with("fsdp: no_shard auto_wrap\n");
  CHECK(!has(none, "shard:"));
  CHECK(has(none, "stack: pytorch\n"));
  const std::string second = experiment_with(
      "fsdp: full_shard auto_wrap\nfsdp_config: {fsdp_version: 2, reshard_after_forward: false}\n");
  CHECK(has(second, "shard: gradients"));
  CHECK(has(second, "stack: torchtitan"));
}

TEST_CASE("MaxText by sizes is a Llama") {
  const ImportedJob job = read_job_text(
      "max.yml",
      "base_emb_dim: 4096\nbase_num_query_heads: 32\nbase_num_kv_heads: 8\nbase_mlp_dim: 14336\n"
      "base_num_decoder_layers: 32\nhead_dim: 128\nvocab_size: 128256\nper_device_batch_size: 2\n"
      "decoder_block: \"llama2\"\nmlp_activations: [\"silu\", \"linear\"]\n");
  CHECK(has(job.experiment, "model: llama3_8b"));
  CHECK(assumes(job, "remat_policy", "full"));
  CHECK(has(job.experiment, "recompute: full"));
  const ImportedJob plain = read_job_text("max.yml", "base_emb_dim: 1024\nper_device_batch_size: 2\n");
  CHECK(assumes(plain, "base_num_decoder_layers", "16"));
  for (const char* const part :
       {"model.decoder.norm: rms_norm", "model.decoder.position: rope", "model.decoder.gated: true",
        "model.decoder.tied: false", "model.decoder.dropout: false", "model.decoder.bias: false"})
    CHECK_MESSAGE(has(plain.experiment, part), part);
  const ImportedJob named =
      read_job_text("max.yml",
                    "model_name: default\ndecoder_block: llama2\nmlp_activations: [silu, linear]\n"
                    "base_emb_dim: 1024\nper_device_batch_size: 2\n");  // as base.yml has it
  CHECK(named.experiment == plain.experiment);
  CHECK(warns(read_job_text("max.yml", "decoder_block: gpt3\nper_device_batch_size: 2\nbase_emb_dim: 1024\n"),
              "'decoder_block'"));
}

TEST_CASE("defaults of Megatron-LM") {
  const std::string base =
      "torchrun --nproc_per_node 8 --nnodes 128 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 --global-batch-size 1024 --bf16 "
      "--vocab-size 51200 ";
  CHECK(has(read_job_text("t.sh", base).experiment, "stack: megatron_core"));
  const std::string overlapping = read_job_text("t.sh", base + "--overlap-grad-reduce").experiment;
  CHECK(has(overlapping, "stack.overlap: true"));
  CHECK_FALSE(has(overlapping, "bucket"));  // the stack's overlapped_buckets
  const ImportedJob experts = read_job_text("t.sh", base + "--num-experts 8");
  CHECK(has(experts.experiment, "model.decoder.experts_per_token: 2"));
  CHECK(assumes(experts, "moe_router_topk", "2"));
  const std::string shared = base + "--num-experts 8 --expert-model-parallel-size 8 ";
  const ImportedJob gathered = read_job_text("t.sh", shared);
  CHECK(has(gathered.experiment, "dispatcher: allgather"));
  CHECK(assumes(gathered, "moe_token_dispatcher_type", "allgather"));
  const ImportedJob sent = read_job_text(
      "t.sh", shared +
                  "--moe-token-dispatcher-type flex --moe-enable-deepep --moe-router-num-groups 4 "
                  "--moe-router-group-topk 2 --overlap-moe-expert-parallel-comm");
  CHECK(has(sent.experiment, "dispatcher: flex"));
  CHECK(has(sent.experiment, "expert_overlap: micro_batches"));
  CHECK(has(sent.experiment, "group_limit: 2"));
  const ImportedJob beside = read_job_text(
      "t.sh", shared +
                  "--moe-token-dispatcher-type alltoall --moe-shared-expert-intermediate-size 2048 "
                  "--moe-shared-expert-overlap");
  CHECK(has(beside.experiment, "expert_overlap: shared_experts"));
  const ImportedJob block = read_job_text(
      "t.sh", base + "--recompute-granularity full --recompute-method block --recompute-num-layers 1");
  CHECK(has(account_of(block, "recompute_num_layers").text, "shorter and needs more memory"));
  const ImportedJob uniform = read_job_text(
      "t.sh", base + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  CHECK(account_of(uniform, "recompute_num_layers").fate == Fate::no_effect);
}

TEST_CASE("two values of one setting are named with their places") {
  const ImportedJob job = read_job_text(
      "t.sh",
      "#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun torchrun --nproc_per_node 4 --nnodes 2 "
      "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 "
      "--micro-batch-size 1 --global-batch-size 8\n");
  CHECK(has(job.experiment, "nodes: 2\ngpus_per_node: 4"));
  CHECK(warns(job, "t.sh:1: 'slurm.nodes' is '4', but line 3 says '2', which counts"));
  CHECK(account_of(job, "slurm.nodes").fate == Fate::unknown);
  CHECK(account_of(job, "torchrun.nnodes").fate == Fate::taken);
}

TEST_CASE("a command counts more than the file that it names") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "acc.yaml")
      << "compute_environment: LOCAL\ndistributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n";
  std::ofstream(folder.path / "t.sh") << "accelerate launch --config_file acc.yaml --num_processes 16 t.py "
                                         "--model_name_or_path gpt2 --per_device_train_batch_size 4\n";
  const ImportedJob job = read_job(testing::shipped_catalogue(), folder.path / "t.sh");
  CHECK(has(job.experiment, "gpus: 16"));
  CHECK(warns(job, "acc.yaml:3: 'num_processes' is '8', but line 1 of t.sh says '16', which counts"));
}

TEST_CASE("of several trainings in a script the first is the job") {
  const std::string options =
      " --num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 "
      "--micro-batch-size 4 --global-batch-size 64";
  const ImportedJob job = read_job_text(
      "t.sh", "torchrun --nproc_per_node 2 pretrain_gpt.py --fp16" + options +
                  "\ntorchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --swiglu" + options + "\n");
  CHECK(has(job.experiment, "gpus_per_node: 2"));
  CHECK(has(job.experiment, "precision: fp16"));
  CHECK(warns(job, "t.sh:2: a second training: the one in line 1 is the job"));
  const ImportedJob prepared = read_job_text(
      "t.sh",
      "python tools/preprocess_data.py --tokenizer-type GPT2BPETokenizer\ntorchrun --nproc_per_node 2 "
      "pretrain_gpt.py --fp16" +
          options + "\n");
  CHECK(has(prepared.experiment, "gpus_per_node: 2"));
}

TEST_CASE("degrees of torchtitan say how many GPUs there are") {
  const std::string head =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
      "[parallelism]\ndata_parallel_replicate_degree = 2\n";
  const ImportedJob job = read_job_text("j.toml", head + "data_parallel_shard_degree = 16\n");
  CHECK(has(job.experiment, "gpus: 32"));
  CHECK(warns(job, "16 replicas divide a copy of the state in the job"));
  CHECK(warns(read_job_text("j.toml", head + "data_parallel_shard_degree = -1\n"), "right on 2 nodes"));
}

TEST_CASE("a run says what is assumed and what is not modelled") {
  const ImportedJob job = read_job_text(
      "lf.yaml",
      "model_name_or_path: gpt2\nfinetuning_type: lora\nper_device_train_batch_size: 4\nbf16: true\n"
      "use_unsloth: true\n");
  const std::string note = note_on(job);
  for (const char* const part : {"assumed, not in the job: ", "cutoff_len 2048", "(finetuning_type)",
                                 "a real step is shorter and needs less memory (use_unsloth)"})
    CHECK_MESSAGE(has(note, part), note);
}

TEST_CASE("errors of jobs have their places") {
  const auto error_of = [](const std::string& name, const std::string& text) {
    try {
      read_job_text(name, text);
    } catch (const InputError& error) {
      return error.diagnostics();
    }
    return std::vector<Diagnostic>();
  };
  const auto zero = error_of("axo.yaml", "base_model: gpt2\nsequence_len: 10\nmicro_batch_size: 0\n");
  REQUIRE(zero.size() == 1);
  CHECK(zero[0].line == 3);
  CHECK(zero[0].column == 19);
  CHECK(zero[0].source_line == "micro_batch_size: 0");
  CHECK(has(zero[0].message, "'micro_batch_size' takes whole numbers from 1 to 10000000, not '0'"));
  const auto repeated = error_of("axo.yaml", "base_model: gpt2\nmicro_batch_size: 1\nmicro_batch_size: 2\n");
  REQUIRE(repeated.size() == 1);
  CHECK(repeated[0].line == 3);
  CHECK(error_of("ds.json", "{\"train_micro_batch_size_per_gpu\": 1,\n\"train_micro_batch_size_per_gpu\": 2}")
            .size() == 1);
  const auto here = error_of("t.sh",
                             "cat <<EOF > ds.json\n{\n  \"bf16\": {\"enabled\": true\n}\nEOF\ndeepspeed "
                             "--num_gpus 8 t.py --deepspeed ds.json --model_name_or_path gpt2\n");
  REQUIRE(!here.empty());
  CHECK(here[0].line >= 2);
  CHECK(here[0].line <= 5);
  const auto toml = error_of("j.toml", "[model]\nname = \"llama3\n[training]\nsteps = 1\n");
  REQUIRE(toml.size() == 1);
  CHECK(toml[0].source_line == "name = \"llama3");
  const auto several = error_of("t.sh",
                                "torchrun --nproc_per_node 0 pretrain_gpt.py --num-layers 1e19 "
                                "--hidden-size 768 --num-attention-heads 12\n");
  CHECK(several.size() == 2);
  CHECK(!error_of("t.sh",
                  "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 12 --hidden-size 768 "
                  "--num-attention-heads 12 --tensor-model-parallel-size 1000000 "
                  "--pipeline-model-parallel-size 1000000\n")
             .empty());
}

TEST_CASE("a script whose variables grow is refused at the line") {
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  CHECK_THROWS_WITH_AS(
      read_job_text("t.sh", doubling + "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $A\n"),
      doctest::Contains("t.sh:2"), InputError);
  std::string nested = "torchrun --nproc_per_node ";
  for (int i = 0; i < 200'000; ++i) nested += "${a:-";
  CHECK_THROWS_AS(read_job_text("t.sh", nested), InputError);
}

TEST_CASE("a model folder beside the job is found from where the experiment is written") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path / "sub/mymodel");
  std::ofstream(folder.path / "sub/mymodel/config.json") << "{}";
  std::ofstream(folder.path / "sub/hf.yaml")
      << "model_name_or_path: mymodel\nper_device_train_batch_size: 4\nbf16: true\n";
  const auto model_for = [&](const std::filesystem::path& out) {
    const std::string text =
        read_job(testing::shipped_catalogue(), folder.path / "sub/hf.yaml", out).experiment;
    const std::size_t at = text.find("model: ") + 7;
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(model_for({}) == "mymodel/config.json");
  const std::string other = model_for(folder.path / "elsewhere/e.yaml");
  CHECK(std::filesystem::exists(other.starts_with("/") ? std::filesystem::path(other)
                                                       : folder.path / "elsewhere" / other));
}

constexpr const char* gpt_args =
    "pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
    "--vocab-size 50257 --bf16 --micro-batch-size 1 --global-batch-size 512";

TEST_CASE("a script: what stands behind the last option is no part of its value") {
  const std::string start = std::string("torchrun --nnodes 2 --nproc_per_node 8 ") + gpt_args;
  const std::string plain = read_job_text("t.sh", start + "\n").experiment;
  CHECK(has(plain, "global_batch: 512"));
  for (const char* const end : {" 2>&1 | tee log", " > log 2>&1 &", " &> log", " \"$@\"", " $@"})
    CHECK_MESSAGE(read_job_text("t.sh", start + end + "\n").experiment == plain, end);
  const ImportedJob extra = read_job_text("t.sh", start + " $EXTRA\n");
  CHECK(extra.experiment == plain);
  CHECK(warns(extra, "the text that $EXTRA adds is not in the file"));
}

TEST_CASE("a script: short options of Slurm with their value") {
  const std::string start = std::string("#SBATCH -N4 --gres=gpu:8\nsrun python ") + gpt_args;
  CHECK(has(read_job_text("t.sh", start).experiment, "nodes: 4"));
  CHECK(has(read_job_text("t.sh", std::string("srun -n16 -N2 python ") + gpt_args).experiment,
            "gpus_per_node: 8"));
}

TEST_CASE("a script: one command is the job") {
  const std::string start = std::string("torchrun --nnodes 2 --nproc_per_node 8 ") + gpt_args + "\n";
  const std::string plain = read_job_text("t.sh", start).experiment;
  for (const char* const other : {"echo \"torchrun --nnodes 77 --global-batch-size 3\"\n",
                                  "echo torchrun --nnodes 77 pretrain_gpt.py\n",
                                  "python tools/convert.py --tensor-model-parallel-size 4 --num-layers 3\n",
                                  "torchrun --nproc_per_node 1 eval.py --micro-batch-size 16\n",
                                  "python tools/text.py --seq-length 2\n"}) {
    CHECK_MESSAGE(read_job_text("t.sh", start + other).experiment == plain, other);
    CHECK_MESSAGE(read_job_text("t.sh", other + start).experiment == plain, other);
  }
  CHECK(warns(read_job_text("t.sh", start + "python eval.py --micro-batch-size 16\n"),
              "t.sh:2: another program"));
  const std::string named =
      start.substr(0, start.size() - 1) + " --wandb-exp-name \"tp --tensor-model-parallel-size 8\"\n";
  CHECK(read_job_text("t.sh", named).experiment == plain);
}

TEST_CASE("a job: a line break in its name ends no comment") {
  const std::string text = std::string("torchrun --nproc_per_node 8 ") + gpt_args;
  const std::string experiment = read_job_text("a\nnodes: 7\n# .sh", text).experiment;
  CHECK(has(experiment, "# a?nodes: 7?# .sh: "));
}

TEST_CASE("a script: programs of Megatron-LM for other models are no GPT") {
  const ImportedJob bert = read_job_text(
      "t.sh",
      "torchrun --nproc_per_node 8 pretrain_bert.py --num-layers 24 --hidden-size 1024 --fp16 "
      "--num-attention-heads 16 --seq-length 512 --micro-batch-size 4 --global-batch-size 32\n");
  CHECK(!has(bert.experiment, "model:"));
  CHECK(!has(bert.experiment, "model.decoder"));
  CHECK(warns(bert, "pretrain_bert.py trains no GPT: add --model"));
}

TEST_CASE("a pipeline of torchtitan says nothing about the number of GPUs") {
  const ImportedJob job =
      read_job_text("t.toml",
                    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = "
                    "8\nglobal_batch_size = 512\n"
                    "[parallelism]\ntensor_parallel_degree = 8\npipeline_parallel_degree = 4\n"
                    "pipeline_parallel_microbatch_size = 2\n");
  CHECK(!has(job.experiment, "gpus"));
  CHECK(!has(job.experiment, "accumulation"));
  CHECK(has(job.experiment, "global_batch: 512\nbatch_per_gpu: 2\n"));
}

TEST_CASE("degrees that the job's own sizes rule out are errors at their place") {
  const std::string start = std::string("torchrun --nproc_per_node 8 ") + gpt_args;
  for (const auto& [option, message] :
       {std::pair{" --pipeline-model-parallel-size 32\n", "32 stages, but the model has 24 layers"},
        std::pair{" --tensor-model-parallel-size 3\n", "16 heads are not divisible by 3 ranks"}}) {
    try {
      static_cast<void>(read_job_text("t.sh", start + option));
      FAIL(option);
    } catch (const InputError& error) {
      CHECK(error.diagnostics().front().message == message);
      CHECK(error.diagnostics().front().line == 1);
    }
  }
}

TEST_CASE("recipes of torchtune and jobs of torchtitan that a command names") {
  const ImportedJob tune = read_job_text(
      "t.sh",
      "tune run --nproc_per_node 4 full_finetune_distributed --config llama3/8B_full batch_size=2 "
      "dtype=bf16\n");
  CHECK(has(tune.tool, "torchtune"));
  for (const char* const part :
       {"gpus_per_node: 4", "model: llama3_8b", "batch_per_gpu: 2", "precision: pure_bf16"})
    CHECK_MESSAGE(has(tune.experiment, part), part);
  CHECK(warns(tune, "'llama3/8B_full' is not in the job's folder: its name says the model alone"));
  const ImportedJob titan =
      read_job_text("t.sh",
                    "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file ./none.toml "
                    "--training.local_batch_size 3\n");
  CHECK(has(titan.tool, "torchtitan"));
  CHECK(has(titan.experiment, "batch_per_gpu: 3"));
  CHECK(warns(titan, "'./none.toml' is not in the job's folder"));
}

TEST_CASE("a Trainer's configuration of DeepSpeed inside its JSON") {
  const ImportedJob job = read_job_text(
      "t.json",
      "{\"model_name_or_path\": \"gpt2\", \"per_device_train_batch_size\": 4, \"bf16\": true,\n"
      "\"deepspeed\": {\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": \"auto\"}}}");
  for (const char* const part : {"stack: deepspeed", "batch_per_gpu: 4", "shard: gradients"})
    CHECK_MESSAGE(has(job.experiment, part), part);
  CHECK(has(job.tool, "Trainer"));
}

TEST_CASE("a stage of ZeRO that there is not is an error") {
  for (const char* const stage : {"7", "\"three\"", "[1, 2]"})
    CHECK_THROWS_AS(read_job_text("ds.json", std::string("{\"train_micro_batch_size_per_gpu\": 1, "
                                                         "\"zero_optimization\": {\"stage\": ") +
                                                 stage + "}}"),
                    InputError);
}

TEST_CASE("Accelerate without GPUs is named") {
  const std::string start = "compute_environment: LOCAL_MACHINE\nnum_processes: 8\n";
  CHECK(
      account_of(read_job_text("a.yaml", start + "distributed_type: MULTI_CPU\n"), "distributed_type").fate ==
      Fate::not_modelled);
  CHECK(account_of(read_job_text("a.yaml", start + "use_cpu: true\n"), "use_cpu").fate == Fate::not_modelled);
  CHECK(account_of(read_job_text("a.yaml", start + "use_cpu: false\n"), "use_cpu").fate == Fate::no_effect);
  CHECK(warns(read_job_text("a.yaml", start + "distributed_type: TPU\n"), "which is not simulated"));
}

TEST_CASE("offload that a missing file's name tells is named") {
  CHECK(warns(read_job_text("s.yaml",
                            "model_name_or_path: gpt2\nper_device_train_batch_size: 1\n"
                            "deepspeed: ds_zero3_offload.json\n"),
              "moves state to the host"));
}

TEST_CASE("TOML keys of many parts are errors") {
  std::string parts = "a";
  for (int i = 0; i < 20'000; ++i) parts += ".a";
  CHECK_THROWS_AS(read_job_text("t.toml", "[model]\nname = \"llama3\"\n[training]\n[" + parts + "]\n"),
                  InputError);
}

}  // namespace
}  // namespace trainyard::jobs
