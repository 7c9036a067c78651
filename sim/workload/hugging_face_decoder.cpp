// The meaning of decoders' keys. Sources: see hugging_face_kinds.cpp.
#include "units/text.hpp"
#include "workload/hugging_face_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace trainyard {
namespace {

using config::Node;

constexpr std::array decoder_copies{
    KeyCopy{"vocab_size", "vocabulary"},
    KeyCopy{"hidden_size", "hidden"},
    KeyCopy{"num_hidden_layers", "layers"},
    KeyCopy{"num_attention_heads", "heads"},
    KeyCopy{"intermediate_size", "ffn"},
    KeyCopy{"tie_word_embeddings", "tied"},
    KeyCopy{"qkv_bias", "qkv_bias"},
    KeyCopy{"mlp_bias", "mlp_bias"},
    KeyCopy{"use_bias", "bias"},
    KeyCopy{"lm_head_bias", "head_bias"},
    KeyCopy{"embedding_size", "embedding_size"},
};

void convert_biases(HuggingFaceConfig& config) {
  if (!config.has("attention_bias")) return;
  const bool has_bias = config.flag("attention_bias");
  config.put_flag("qkv_bias", has_bias, "attention_bias");
  config.put_flag("output_bias", has_bias, "attention_bias");
}

void convert_dropout(HuggingFaceConfig& config) {
  const bool drops = config.number("hidden_dropout").value_or(0) > 0;
  const bool drops_scores = config.number("attention_dropout").value_or(0) > 0;
  config.put_flag("dropout", drops, "hidden_dropout");
  if (drops_scores != drops) config.put_flag("attention_dropout", drops_scores, "attention_dropout");
  constexpr std::array inner{"activation_dropout", "activation_pdrop"};
  for (const char* key : inner) {
    if (config.number(key).value_or(0) > 0)
      config.warn(key, "dropout between the linear layers of a block is left out", "steps are longer");
  }
}

void convert_heads(HuggingFaceConfig& config, std::string_view model_type) {
  if (config.has("kv_lora_rank")) {
    for (const KeyCopy& copy :
         {KeyCopy{"q_lora_rank", "query_rank"}, KeyCopy{"kv_lora_rank", "key_value_rank"},
          KeyCopy{"qk_nope_head_dim", "plain_dim"}, KeyCopy{"qk_rope_head_dim", "rope_dim"},
          KeyCopy{"v_head_dim", "value_dim"}}) {
      if (const auto value = config.whole(copy.from))
        config.put(fmt::format("latent_attention.{}", copy.key), *value, copy.from);
    }
    return;
  }
  config.copy("num_key_value_heads", "kv_heads");
  config.copy("head_dim", "head_dim");
  if (config.flag("multi_query")) config.put("kv_heads", 1, "multi_query");
  if (config.flag("use_qk_norm") || config.flag("qk_layernorm")) {
    const std::string_view from = config.has("use_qk_norm") ? "use_qk_norm" : "qk_layernorm";
    const bool is_shared = model_type == "phi";
    config.put("qk_norm", std::string(is_shared ? "heads" : "own_heads"), from);
    if (is_shared) config.put_flag("qk_norm_bias", true, from);
  }
}

void convert_rotation(HuggingFaceConfig& config) {
  if (config.has("rotary_dim")) {
    config.copy("rotary_dim", "rope_features");
    return;
  }
  std::optional<double> part = config.number("partial_rotary_factor");
  std::string_view from = "partial_rotary_factor";
  if (const Node* const rope = config.find("rope_parameters"); rope != nullptr && !part) {
    const Node* const given = rope->find("partial_rotary_factor");
    const Parsed<double> value = given == nullptr ? Parsed<double>(1.0) : parse_number(given->scalar);
    if (value)
      part = *value;
    else
      config.error("rope_parameters", "expected a number as 'partial_rotary_factor'");
    from = "rope_parameters";
  }
  const std::optional<int> hidden = config.whole("hidden_size");
  const std::optional<int> heads = config.whole("num_attention_heads");
  if (!part || *part >= 1 || !hidden || !heads || *heads < 1) return;
  const int head_dim = config.whole("head_dim").value_or(*hidden / *heads);
  config.put("rope_features", static_cast<int>(*part * head_dim), from);
}

/// Numbers of the blocks that attend to all tokens, from a list with a word for each block.
std::vector<int> full_blocks(HuggingFaceConfig& config, const Node& types) {
  std::vector<int> full;
  for (std::size_t i = 0; i < types.items.size(); ++i) {
    const std::string& type = types.items[i].scalar;
    if (type == "full_attention") full.push_back(static_cast<int>(i));
    if (type == "full_attention" || type == "sliding_attention") continue;
    config.warn("layer_types", fmt::format("layers of the type '{}' are not known", type),
                "they are counted as attention, with other work and parameters than they have");
    return full;
  }
  return full;
}

/// The n for which these are every n-th of the blocks; 0 if there is none.
int period_of(const std::vector<int>& blocks, std::size_t count) {
  if (blocks.empty()) return 0;
  const int period = blocks.front() + 1;
  if (blocks.size() != count / static_cast<std::size_t>(period)) return 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] + 1 != period * static_cast<int>(i + 1)) return 0;
  }
  return period;
}

void convert_windows(HuggingFaceConfig& config) {
  const std::optional<int> window = config.whole("sliding_window");
  const Node* const types = config.find("layer_types");
  const std::optional<int> pattern = config.whole("sliding_window_pattern");
  const std::optional<int> first_layers = config.whole("max_window_layers");
  const std::vector<int> full = types == nullptr ? std::vector<int>{} : full_blocks(config, *types);
  const std::size_t count = types == nullptr ? 0 : types->items.size();
  const bool is_off = config.has("use_sliding_window") && !config.flag("use_sliding_window");
  if (!window || *window == 0 || is_off || (count > 0 && full.size() == count)) return;
  config.put("sliding_window", *window, "sliding_window");
  if (types != nullptr) {
    if (const int period = period_of(full, count); period > 0)
      config.put("full_attention_every", period, "layer_types");
    else if (!full.empty())
      config.put("full_attention_blocks", full, "layer_types");
  } else if (pattern) {
    config.put("full_attention_every", *pattern, "sliding_window_pattern");
  } else if (first_layers) {
    std::vector<int> first(
        static_cast<std::size_t>(std::min(*first_layers, config.whole("num_hidden_layers").value_or(0))));
    std::iota(first.begin(), first.end(), 0);
    config.put("full_attention_blocks", first, "max_window_layers");
  }
}

void convert_experts(HuggingFaceConfig& config) {
  const std::optional<int> experts = config.whole("num_experts");
  constexpr std::array expert_copies{
      KeyCopy{"num_experts_per_tok", "experts_per_token"},
      KeyCopy{"moe_intermediate_size", "expert_ffn"},
      KeyCopy{"shared_expert_intermediate_size", "shared_expert_ffn"},
      KeyCopy{"first_k_dense_replace", "first_dense_layers"},
      KeyCopy{"decoder_sparse_step", "moe_every"},
      KeyCopy{"mlp_only_layers", "dense_blocks"},
  };
  const std::optional<int> shared = config.whole("n_shared_experts");
  const std::optional<int> features = config.whole("moe_intermediate_size");
  const std::optional<int> frequency = config.whole("moe_layer_freq");
  for (const KeyCopy& copy : expert_copies) {
    const bool is_none = config.find(copy.from) == nullptr || config.find(copy.from)->scalar == "0";
    if (experts && *experts > 0 && !is_none) config.copy(copy.from, copy.key);
  }
  if (!experts || *experts == 0) return;
  config.put("experts", *experts, "num_experts");
  if (shared && *shared > 0 && features)
    config.put("shared_expert_ffn", *shared * *features, "n_shared_experts");
  if (frequency && *frequency > 1)
    config.error("moe_layer_freq", "experts in every n-th block are counted from another block here",
                 "moe_layer_freq: 1, or a model file with 'dense_blocks'");
}

void convert_positions(HuggingFaceConfig& config) {
  put_sequence_length(config, "decoder");
  const Node* const position = config.family().find("position");
  if (position == nullptr || position->scalar != "learned") return;
  const int offset = config.whole("position_offset").value_or(0);
  config.put("positions", config.whole("max_position_embeddings").value_or(0) + offset,
             "max_position_embeddings");
}

void convert_halves(HuggingFaceConfig& config, std::string_view model_type) {
  if (config.flag("use_parallel_residual"))
    config.put("halves", std::string(model_type == "gpt_neox" ? "parallel_two_norms" : "parallel_one_norm"),
               "use_parallel_residual");
}

/// Falcon has one norm or two before its halves, and as many heads of keys as its two architectures say.
void convert_falcon(HuggingFaceConfig& config) {
  const bool is_new = config.flag("new_decoder_architecture");
  const bool is_parallel = config.flag("parallel_attn");
  const int norms = config.whole("num_ln_in_parallel_attn").value_or(is_new ? 2 : 1);
  config.put("position", std::string(config.flag("alibi") ? "alibi" : "rope"), "alibi");
  if (is_new || is_parallel)
    config.put("halves", std::string(norms == 2 ? "parallel_two_norms" : "parallel_one_norm"),
               "parallel_attn");
  const int heads = config.whole("num_attention_heads").value_or(1);
  const int own = config.whole("num_kv_heads").value_or(heads);
  const bool has_one = !is_new && config.flag("multi_query");
  config.put("kv_heads", has_one ? 1 : own, config.has("num_kv_heads") ? "num_kv_heads" : "multi_query");
}

/// OPT-350m alone has its norms after the sums, no last norm, and a narrower word embedding.
void convert_opt(HuggingFaceConfig& config) {
  const bool is_before = config.flag("do_layer_norm_before");
  if (!is_before) config.put("norm_place", std::string("after"), "do_layer_norm_before");
  if (!is_before || config.flag("_remove_final_layer_norm"))
    config.put_flag("final_norm", false, "do_layer_norm_before");
  if (config.has("layer_norm_elementwise_affine") && !config.flag("layer_norm_elementwise_affine"))
    config.put("norm", std::string("plain_layer_norm"), "layer_norm_elementwise_affine");
}

/// Values that are off in most configurations, and the work that steps of a model that has them on lack.
void warn_of_parts_left_out(HuggingFaceConfig& config) {
  struct Part {
    std::string_view key;
    const char* what;
    const char* effect;
  };
  constexpr std::array parts{
      Part{"clip_qkv", "limits of queries, keys and values are left out", "steps are a little longer"},
      Part{"layerdrop", "blocks are never left out here", "steps are shorter"},
      Part{"num_nextn_predict_layers",
           "the layers that predict further tokens are left out, as in transformers",
           "parameters and steps are larger"},
      Part{"attention_chunk_size", "tokens attend to all before them, not to those of their chunk alone",
           "steps of samples that are longer are shorter"},
  };
  const bool has_interval = config.whole("no_rope_layer_interval").value_or(0) > 0;
  if (config.has("no_rope_layers") || has_interval)
    config.warn(has_interval ? "no_rope_layer_interval" : "no_rope_layers",
                "queries and keys are rotated in every block", "steps are a little shorter");
  if (config.flag("qk_norm_without_scale"))
    config.warn("qk_norm_without_scale", "norms of queries and keys without a scale are left out",
                "steps are a little longer");
  for (const Part& part : parts) {
    if (config.number(part.key).value_or(0) > 0) config.warn(part.key, part.what, part.effect);
  }
}

}  // namespace

void convert_decoder(HuggingFaceConfig& config, std::string_view model_type) {
  for (const KeyCopy& copy : decoder_copies) config.copy(copy.from, copy.key);
  convert_biases(config);
  convert_dropout(config);
  convert_heads(config, model_type);
  convert_rotation(config);
  convert_windows(config);
  convert_experts(config);
  convert_halves(config, model_type);
  if (model_type == "falcon") convert_falcon(config);
  if (model_type == "opt") convert_opt(config);
  if (config.has("hidden_act") && model_type != "gpt_oss")
    config.put("activation", activation_named(config, "hidden_act"), "hidden_act");
  if (config.has("attn_logit_softcapping")) config.put_flag("attention_cap", true, "attn_logit_softcapping");
  if (config.has("final_logit_softcapping")) config.put_flag("logit_cap", true, "final_logit_softcapping");
  convert_positions(config);
  put_attention(config);
  warn_of_parts_left_out(config);
}

}  // namespace trainyard
