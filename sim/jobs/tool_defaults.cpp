#include "jobs/tool_defaults.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace trainyard::jobs {
namespace {

/// A tool on top of Hugging Face's Trainer, or the tool itself.
enum class DefaultsOf { torchtitan, maxtext, maxtext_model, transformers, llama_factory, axolotl, torchtune };

struct ToolDefault {
  DefaultsOf kind;
  std::string_view key;    ///< of the draft
  std::string_view shown;  ///< the tool's
  std::string_view value, source;
};

constexpr std::string_view by_torchtitan = "torchtitan's default (config/job_config.py)";
constexpr std::string_view by_maxtext = "MaxText's default (configs/base.yml)";
constexpr std::string_view by_trainer = "the Trainer's default (transformers, training_args.py)";
constexpr std::string_view by_factory = "LLaMA-Factory's default (hparams)";
constexpr std::string_view factory_lora =
    "LLaMA-Factory's default (hparams); every parameter is trained here: a real step is shorter and needs "
    "less "
    "memory";
constexpr std::string_view by_axolotl = "axolotl's default (utils/schemas)";

// Checked in: pytorch/torchtitan job_config.py of 2025 (ten versions in public forks),
// AI-Hypercomputer/maxtext e591f30cb, huggingface/transformers training_args.py, hiyouga/LLaMA-Factory
// ff6d4d12e, axolotl 067b021c8, pytorch/torchtune bd2a0fc7c (recipes/configs).
constexpr std::array tool_defaults{
    ToolDefault{DefaultsOf::torchtitan, "batch_per_gpu", "training.local_batch_size", "8", by_torchtitan},
    ToolDefault{DefaultsOf::torchtitan, "sequence_length", "training.seq_len", "2048", by_torchtitan},
    ToolDefault{DefaultsOf::torchtitan, "@checkpoint_mode", "activation_checkpoint.mode", "selective",
                by_torchtitan},
    ToolDefault{DefaultsOf::maxtext, "@per_device_batch", "per_device_batch_size", "12", by_maxtext},
    ToolDefault{DefaultsOf::maxtext, "sequence_length", "max_target_length", "2048", by_maxtext},
    ToolDefault{DefaultsOf::maxtext, "@remat", "remat_policy", "full", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.layers", "base_num_decoder_layers", "16",
                by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.hidden", "base_emb_dim", "2048", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.heads", "base_num_query_heads", "16", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.kv_heads", "base_num_kv_heads", "16", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.ffn", "base_mlp_dim", "7168", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.head_dim", "head_dim", "128", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.vocabulary", "vocab_size", "32000", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "@decoder_block", "decoder_block", "llama2", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "@activations", "mlp_activations", "[silu, linear]", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "model.decoder.tied", "logits_via_embedding", "false", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "@dropout_rate", "dropout_rate", "0", by_maxtext},
    ToolDefault{DefaultsOf::maxtext_model, "@attention_backend", "attention", "autoselected", by_maxtext},
    ToolDefault{DefaultsOf::transformers, "batch_per_gpu", "per_device_train_batch_size", "8", by_trainer},
    ToolDefault{DefaultsOf::transformers, "@clip", "max_grad_norm", "1.0", by_trainer},
    ToolDefault{DefaultsOf::llama_factory, "batch_per_gpu", "per_device_train_batch_size", "8", by_trainer},
    ToolDefault{DefaultsOf::llama_factory, "@clip", "max_grad_norm", "1.0", by_trainer},
    ToolDefault{DefaultsOf::llama_factory, "sequence_length", "cutoff_len", "2048", by_factory},
    ToolDefault{DefaultsOf::llama_factory, "@finetuning", "finetuning_type", "lora", factory_lora},
    ToolDefault{DefaultsOf::llama_factory, "parallelism.recompute", "disable_gradient_checkpointing", "full",
                by_factory},
    ToolDefault{DefaultsOf::axolotl, "batch_per_gpu", "micro_batch_size", "1", by_axolotl},
    ToolDefault{DefaultsOf::axolotl, "@clip", "max_grad_norm", "1.0", by_trainer},
    ToolDefault{DefaultsOf::axolotl, "sequence_length", "sequence_len", "512", by_axolotl},
    ToolDefault{DefaultsOf::torchtune, "@clip", "clip_grad_norm", "0",
                "recipes of torchtune clip nothing by default"}};

void assume_all(JobDraft& draft, DefaultsOf kind) {
  for (const ToolDefault& one : tool_defaults) {
    const bool is_batch_known = one.key == "batch_per_gpu" && draft.has("@global_batch");
    if (one.kind == kind && !is_batch_known)
      draft.assume_setting(one.key, one.shown, std::string(one.value), std::string(one.source));
  }
}

/// Whether the job itself has one of these keys: "zero_optimization.stage" is another than "stage".
bool has_any(const JobDraft& draft, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(draft.account(), [&](const Account& entry) {
    return std::ranges::find(keys, entry.setting.key) != keys.end();
  });
}

/// Which of the tools on top of the Trainer has these keys.
DefaultsOf trainer_kind(const JobDraft& draft) {
  if (has_any(draft, {"stage", "finetuning_type", "cutoff_len", "template", "dataset_dir",
                      "disable_gradient_checkpointing"}))
    return DefaultsOf::llama_factory;
  return has_any(draft, {"base_model"}) ? DefaultsOf::axolotl : DefaultsOf::transformers;
}

}  // namespace

void assume_tool_defaults(JobDraft& draft, Tool tool) {
  switch (tool) {
    case Tool::torchtitan:
      assume_all(draft, DefaultsOf::torchtitan);
      break;
    case Tool::maxtext:
      assume_all(draft, DefaultsOf::maxtext);
      break;
    case Tool::trainer:
      // a training program of one's own may have other defaults than the Trainer's
      if (draft.has("@model")) assume_all(draft, trainer_kind(draft));
      break;
    case Tool::torchtune:
      assume_all(draft, DefaultsOf::torchtune);
      break;
    default:
      break;
  }
}

void assume_default_model(JobDraft& draft, Tool tool) {
  if (tool == Tool::maxtext && !draft.has("@model")) assume_all(draft, DefaultsOf::maxtext_model);
  if ((tool == Tool::megatron || tool == Tool::nemo) && draft.number("model.decoder.experts").value_or(0) > 1)
    draft.assume_setting("model.decoder.experts_per_token", "moe_router_topk", "2",
                         "Megatron-Core's default (transformer_config.py)");
}

}  // namespace trainyard::jobs
