// What one setting of a job becomes: off, automatic, zero, negative and huge values, by tool.

#include "job_text.hpp"
#include "jobs/key_rules.hpp"
#include "jobs/setting_value.hpp"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <span>

namespace trainyard::jobs {
namespace {

using testing::account_of;
using testing::read_job_text;

/// A tool's table, and a job of it whose last line takes one more setting "KEY VALUE".
struct ToolCase {
  std::string_view name;
  std::span<const KeyRule> (*keys)();
  std::string_view file, text, form;
};

constexpr std::array tool_cases{
    ToolCase{"Megatron-LM", megatron_keys, "train.sh",
             "torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 12 --hidden-size 768 "
             "--num-attention-heads 12 --seq-length 1024 --micro-batch-size 2 --bf16",
             " --{} {}\n"},
    ToolCase{"NeMo", megatron_keys, "nemo.yaml",
             "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nexp_manager: {name: run}\nmodel:\n"
             "  micro_batch_size: 2\n  num_layers: 12\n  hidden_size: 768\n  num_attention_heads: 12\n",
             "  {}: {}\n"},
    ToolCase{"torchtitan", torchtitan_keys, "job.toml",
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n[parallelism]\n",
             "{} = \"{}\"\n"},
    ToolCase{"DeepSpeed", deepspeed_keys, "ds.json",
             "{\"train_micro_batch_size_per_gpu\": 4, \"zero_optimization\": {\"stage\": 2}",
             ", \"{}\": \"{}\"}}\n"},
    ToolCase{"Trainer", trainer_keys, "sft.yaml",
             "model_name_or_path: gpt2\nper_device_train_batch_size: 4\n", "{}: {}\n"},
    ToolCase{"Accelerate", accelerate_keys, "acc.yaml",
             "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n", "{}: {}\n"},
    ToolCase{"torchtune", torchtune_keys, "tune.yaml",
             "model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\nbatch_size: 2\ndtype: bf16\n",
             "{}: {}\n"},
    ToolCase{"MaxText", maxtext_keys, "max.yml", "base_config: base.yml\nmodel_name: llama2-7b\n",
             "{}: {}\n"}};

std::string job_with(const ToolCase& tool, std::string_view key, std::string_view value) {
  return std::string(tool.text) + fmt::format(fmt::runtime(tool.form), key, value);
}

TEST_CASE("job values: what is off becomes nothing, whatever the key") {
  const std::set<std::string_view> with_false{"model.decoder.tied", "model.decoder.bias",
                                              "@fsdp_strategy",     "@amp_o2",
                                              "@mixed_precision",   "@overlap_comm"};
  for (const auto keys : {&launcher_keys, &megatron_keys, &torchtitan_keys, &deepspeed_keys, &trainer_keys,
                          &accelerate_keys, &torchtune_keys, &maxtext_keys, &nanotron_keys, &llmc_keys}) {
    for (const KeyRule& rule : keys()) {
      if (rule.fate != Fate::taken) continue;
      CAPTURE(rule.key);
      for (const char* const off : {"false", "False", "null", "None", "[]", "{}", "~"}) {
        CAPTURE(off);
        const bool has_meaning =
            with_false.contains(rule.text) && rule.value.empty() && (off[0] == 'f' || off[0] == 'F');
        const TakenValue value = taken_value({std::string(rule.key), off, "f", 1}, rule);
        CHECK((value.kind == TakenValue::Kind::nothing) == !has_meaning);
        if (has_meaning) CHECK(value.value == "false");
      }
    }
  }
}

TEST_CASE("job values: counts are whole numbers from 1, and of a size that can be") {
  const auto kind_of = [](std::string_view key, const char* value) {
    return taken_value({"k", value, "f", 1}, taken("k", key)).kind;
  };
  using Value = TakenValue::Kind;
  for (const char* const key :
       {"nodes", "gpus", "gpus_per_node", "batch_per_gpu", "accumulation", "@global_batch", "@tasks_per_node",
        "parallelism.tensor", "parallelism.pipeline", "parallelism.context", "parallelism.expert",
        "@shard_degree", "model.decoder.layers", "model.decoder.hidden", "model.decoder.heads",
        "model.decoder.vocabulary", "sequence_length"}) {
    CAPTURE(key);
    for (const char* const wrong : {"0", "-3", "1.5", "1e19", "9223372036854775807"})
      CHECK_MESSAGE(kind_of(key, wrong) == Value::wrong, wrong);
    CHECK(kind_of(key, "8") == Value::stated);
    CHECK(kind_of(key, "$N") == Value::elsewhere);
    CHECK(kind_of(key, "auto") == Value::nothing);
  }
  CHECK(kind_of("@shard_degree", "-1") == Value::stated);  // the ranks that remain
  CHECK(kind_of("nodes", "-1") == Value::nothing);
  for (const char* const key : {"model.decoder.experts", "@steps", "job.steps", "parallelism.virtual_stages"})
    CHECK(kind_of(key, "0") == Value::nothing);
  CHECK(taken_value({"k", "32_768", "f", 1}, taken("k", "model.decoder.vocabulary")).value == "32768");
  CHECK(taken_value({"k", "8.0", "f", 1}, taken("k", "batch_per_gpu")).value == "8");
}

TEST_CASE("job values: GPUs of Slurm") {
  const auto of = [](const char* value) {
    return taken_value({"k", value, "f", 1}, taken("k", "gpus_per_node"));
  };
  CHECK(of("gpu:h100:8").value == "8");
  CHECK(of("gpu:h100:8").gpu == "h100");
  CHECK(of("gpu:8,nvme:1").value == "8");
  CHECK(of("nvme:1,gpu:a100:4(S:0-1)").value == "4");
  CHECK(of("h100:8").gpu == "h100");
  CHECK(of("nvme:1,shm:2").kind == TakenValue::Kind::nothing);
  CHECK(of("[0, 1, 2]").value == "3");
  const TakenValue range = taken_value({"k", "2-4", "f", 1}, taken("k", "nodes"));
  CHECK(range.value == "2");
  CHECK(range.remark == "the least of 2 to 4 counts");
}

TEST_CASE("job values: no value of any key ends the reader") {
  for (const ToolCase& tool : tool_cases) {
    for (const KeyRule& rule : tool.keys()) {
      if (rule.fate != Fate::taken || rule.key.find('.') != std::string_view::npos) continue;
      for (const char* const value : {"0", "-1", "1e19", "x"}) {
        CAPTURE(tool.name);
        CAPTURE(rule.key);
        CAPTURE(value);
        bool is_clear = false;
        try {
          is_clear =
              !read_job_text(std::string(tool.file), job_with(tool, rule.key, value)).experiment.empty();
        } catch (const InputError& error) {
          is_clear = error.diagnostics().front().line > 0;
        }
        CHECK(is_clear);
      }
    }
  }
}

/// One setting of a tool, and what becomes of it.
struct KeyCase {
  std::string_view key, value;
  Fate fate;
  std::string_view text;  ///< part of the account's
};

void check_keys(std::string_view name, std::span<const KeyCase> cases) {
  const auto tool = std::ranges::find(tool_cases, name, &ToolCase::name);
  for (const KeyCase& one : cases) {
    CAPTURE(one.key);
    CAPTURE(one.value);
    const ImportedJob job = read_job_text(std::string(tool->file), job_with(*tool, one.key, one.value));
    std::string key(one.key);
    std::ranges::replace(key, '-', '_');
    const auto found = std::find_if(job.account.rbegin(), job.account.rend(),
                                    [&](const Account& entry) { return entry.setting.key.ends_with(key); });
    REQUIRE(found != job.account.rend());
    CHECK(found->fate == one.fate);
    CHECK_MESSAGE(found->text.find(one.text) != std::string::npos, found->text);
  }
}

constexpr Fate is_taken = Fate::taken, is_without_effect = Fate::no_effect, is_left_out = Fate::not_modelled,
               is_unknown = Fate::unknown;

TEST_CASE("job values: Megatron-LM") {
  constexpr std::array cases{
      KeyCase{"tensor-model-parallel-size", "2", is_taken, "parallelism.tensor=2"},
      KeyCase{"tensor-model-parallel-size", "1", is_without_effect, ""},
      KeyCase{"normalization", "RMSNorm", is_taken, "model.decoder.norm=rms_norm"},
      KeyCase{"position-embedding-type", "rope", is_taken, "model.decoder.position=rope"},
      KeyCase{"position-embedding-type", "relative", is_unknown, "not known"},
      KeyCase{"swiglu", "", is_taken, "model.decoder.gated=true"},
      KeyCase{"squared-relu", "", is_left_out, "ReLU here"},
      KeyCase{"fp8-format", "hybrid", is_taken, "precision=fp8"},
      KeyCase{"group-query-attention", "", is_taken, "model.decoder.kv_heads=1"},
      KeyCase{"clip-grad", "0.0", is_taken, "stack.clip_gradients=false"},
      KeyCase{"clip-grad", "1.0", is_without_effect, ""},
      KeyCase{"use-tp-pp-dp-mapping", "", is_taken, "parallelism.order=[tensor, context, pipeline, data]"},
      KeyCase{"fp32-residual-connection", "", is_left_out, "longer"},
      KeyCase{"num-distributed-optimizer-instances", "1", is_without_effect, ""},
      KeyCase{"num-distributed-optimizer-instances", "2", is_left_out, "more memory"},
      KeyCase{"moe-token-dispatcher-type", "allgather", is_without_effect, ""},  // without experts
      KeyCase{"moe-permute-fusion", "", is_without_effect, ""},
      KeyCase{"deterministic-mode", "", is_left_out, "longer"},
      KeyCase{"qk-layernorm", "", is_taken, "model.decoder.qk_norm=heads"},
      KeyCase{"attention-dropout", "0", is_taken, "model.decoder.attention_dropout=false"},
      KeyCase{"optimizer", "sgd", is_taken, "optimizer=momentum"},
      KeyCase{"optimizer", "muon", is_left_out, "longer"},
      KeyCase{"transformer-impl", "local", is_taken, "stack=megatron_lm"},
      KeyCase{"lr", "1e-4", is_without_effect, ""},
      KeyCase{"no-such-key", "1", is_unknown, ""}};
  check_keys("Megatron-LM", cases);
}

TEST_CASE("job values: NeMo") {
  constexpr std::array cases{KeyCase{"fp8", "False", is_without_effect, ""},
                             KeyCase{"fp8", "True", is_taken, "precision=fp8"},
                             KeyCase{"bias", "False", is_taken, "model.decoder.bias=false"},
                             KeyCase{"share_embeddings_and_output_weights", "True", is_taken, "model="},
                             KeyCase{"activation", "geglu", is_taken, "model.decoder.activation=gelu"},
                             KeyCase{"activation", "reglu", is_left_out, "SiLU"},
                             KeyCase{"activation", "mish", is_unknown, "not known"},
                             KeyCase{"gradient_accumulation_fusion", "False", is_left_out, "longer"},
                             KeyCase{"gradient_accumulation_fusion", "True", is_without_effect, ""},
                             KeyCase{"megatron_amp_O2", "False", is_left_out, "longer"},
                             KeyCase{"qk_layernorm", "False", is_without_effect, ""},
                             KeyCase{"virtual_pipeline_model_parallel_size", "null", is_without_effect, ""},
                             KeyCase{"gradient_clip_val", "0", is_taken, "stack.clip_gradients=false"}};
  check_keys("NeMo", cases);
}

TEST_CASE("job values: torchtitan") {
  constexpr std::array cases{
      KeyCase{"tensor_parallel_degree", "2", is_taken, "parallelism.tensor=2"},
      KeyCase{"pipeline_parallel_degree", "1", is_without_effect, ""},
      KeyCase{"data_parallel_shard_degree", "16", is_taken, "gpus=16"},
      KeyCase{"data_parallel_shard_degree", "-1", is_taken, "parallelism.shard=parameters"},
      KeyCase{"enable_async_tensor_parallel", "false", is_without_effect, ""},
      KeyCase{"enable_async_tensor_parallel", "true", is_left_out, "shorter"}};
  check_keys("torchtitan", cases);
  const ImportedJob job = read_job_text(
      "job.toml",
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n[parallelism]\ntensor_parallel_degree = 2\n");
  CHECK(testing::assumes(job, "training.local_batch_size", "8"));
  CHECK(testing::assumes(job, "activation_checkpoint.mode", "selective"));
  CHECK(testing::assumes(job, "parallelism.sequence", "true"));
}

TEST_CASE("job values: DeepSpeed") {
  constexpr std::array cases{KeyCase{"bf16.enabled", "auto", is_taken, "precision=bf16"},
                             KeyCase{"fp16.enabled", "false", is_without_effect, ""},
                             KeyCase{"gradient_clipping", "0.0", is_taken, "stack.clip_gradients=false"},
                             KeyCase{"gradient_clipping", "auto", is_without_effect, ""},
                             KeyCase{"zero_optimization.mics_shard_size", "8", is_left_out, "shorter"},
                             KeyCase{"zero_optimization.mics_shard_size", "-1", is_without_effect, ""},
                             KeyCase{"zero_optimization.reduce_scatter", "false", is_left_out, "longer"},
                             KeyCase{"zero_optimization.not_a_key", "1", is_unknown, ""},
                             KeyCase{"offload_optimizer.device", "none", is_without_effect, ""},
                             KeyCase{"offload_optimizer.device", "cpu", is_left_out, "less memory"},
                             KeyCase{"tensor_parallel.autotp_size", "0", is_without_effect, ""},
                             KeyCase{"tensor_parallel.autotp_size", "2", is_taken, "parallelism.tensor=2"},
                             KeyCase{"optimizer.type", "AdamW", is_taken, "optimizer=adam"},
                             KeyCase{"optimizer.type", "OneBitAdam", is_left_out, "shorter"}};
  check_keys("DeepSpeed", cases);
}

TEST_CASE("job values: the Trainer and the tools on top of it") {
  constexpr std::array cases{
      KeyCase{"bf16", "true", is_taken, "precision=amp_bf16"},
      KeyCase{"bf16", "auto", is_taken, "precision=amp_bf16"},
      KeyCase{"bf16", "false", is_without_effect, ""},
      KeyCase{"fsdp", "[]", is_without_effect, ""},
      KeyCase{"fsdp", "full_shard auto_wrap", is_taken, "parallelism.shard=parameters"},
      KeyCase{"torch_dtype", "bfloat16", is_taken, "precision=pure_bf16"},
      KeyCase{"torch_dtype", "auto", is_without_effect, ""},
      KeyCase{"max_grad_norm", "1.0", is_taken, "stack.clip_gradients=true"},
      KeyCase{"max_grad_norm", "0", is_without_effect, ""},
      KeyCase{"ddp_bucket_cap_mb", "100", is_taken, "stack.bucket_cap=100 MiB"},
      KeyCase{"torch_compile_backend", "inductor", is_taken, "stack=pytorch_compile"},
      KeyCase{"optim", "adamw_torch_fused", is_taken, "optimizer=adam"},
      KeyCase{"optim", "adamw_8bit", is_left_out, "less memory"},
      KeyCase{"optim", "paged_adamw_32bit", is_left_out, "host"},
      KeyCase{"gradient_checkpointing", "true", is_taken, "parallelism.recompute=full"},
      KeyCase{"gradient_checkpointing", "false", is_without_effect, ""}};
  check_keys("Trainer", cases);
  const ImportedJob factory = read_job_text("lf.yaml", "model_name_or_path: gpt2\nstage: sft\nbf16: true\n");
  for (const auto& [key, value] : {std::pair{"finetuning_type", "lora"},
                                   {"cutoff_len", "2048"},
                                   {"per_device_train_batch_size", "8"},
                                   {"disable_gradient_checkpointing", "full"}})
    CHECK_MESSAGE(testing::assumes(factory, key, value), key);
  CHECK(factory.experiment.find("sequence_length: 1024") != std::string::npos);  // GPT-2 has no more
}

TEST_CASE("job values: Accelerate") {
  constexpr std::array cases{
      KeyCase{"fsdp_version", "2", is_taken, "stack=torchtitan"},
      KeyCase{"fsdp_sharding_strategy", "FULL_SHARD", is_taken, "parallelism.shard=parameters"},
      KeyCase{"fsdp_sharding_strategy", "SOME_SHARD", is_unknown, "not known"},
      KeyCase{"fsdp_activation_checkpointing", "false", is_without_effect, ""},
      KeyCase{"megatron_lm_recompute_activations", "false", is_without_effect, ""},
      KeyCase{"megatron_lm_recompute_activations", "true", is_taken, "parallelism.recompute=selective"},
      KeyCase{"mixed_precision", "bf16", is_taken, "precision=bf16"},
      KeyCase{"fsdp_forward_prefetch", "true", is_taken, "stack.units.forward_prefetch=true"}};
  check_keys("Accelerate", cases);
}

TEST_CASE("job values: torchtune and MaxText") {
  constexpr std::array tune{KeyCase{"compile", "False", is_without_effect, ""},
                            KeyCase{"compile", "True", is_left_out, "shorter"},
                            KeyCase{"clip_grad_norm", "null", is_without_effect, ""},
                            KeyCase{"enable_activation_checkpointing", "True", is_taken, "recompute=full"}};
  check_keys("torchtune", tune);
  const ImportedJob lora = read_job_text("tune.yaml",
                                         "model: {_component_: torchtune.models.llama3_1.lora_llama3_1_8b, "
                                         "lora_rank: 8}\nbatch_size: 2\ndtype: bf16\n");
  CHECK(account_of(lora, "model.lora_rank").fate == Fate::not_modelled);
  constexpr std::array maxtext{
      KeyCase{"remat_policy", "minimal", is_left_out, "longer"},
      KeyCase{"ici_fsdp_parallelism", "16", is_taken, "gpus=16"},
      KeyCase{"ici_fsdp_parallelism", "-1", is_taken, "parallelism.shard=parameters"},
      KeyCase{"ici_autoregressive_parallelism", "1", is_without_effect, ""},
      KeyCase{"ici_autoregressive_parallelism", "2", is_left_out, "replicas"}};
  check_keys("MaxText", maxtext);
}

TEST_CASE("job values: each name with '@' has a meaning") {
  std::string meanings;
  const std::filesystem::path folder = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "sim/jobs";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (name.ends_with("_keys.cpp") || !name.ends_with(".cpp")) continue;
    std::ifstream stream(file.path());
    meanings.append(std::istreambuf_iterator<char>(stream), {});
  }
  for (const auto keys : {&launcher_keys, &megatron_keys, &torchtitan_keys, &deepspeed_keys, &trainer_keys,
                          &accelerate_keys, &torchtune_keys, &maxtext_keys, &nanotron_keys, &llmc_keys})
    for (const KeyRule& rule : keys())
      if (rule.fate == Fate::taken && rule.text.starts_with('@'))
        CHECK_MESSAGE(meanings.find(fmt::format("\"{}\"", rule.text)) != std::string::npos, rule.text);
}

}  // namespace
}  // namespace trainyard::jobs
