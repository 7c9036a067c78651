// Sources: huggingface/transformers src/transformers/models/KIND: configuration_KIND.py (keys and defaults)
// and modeling_KIND.py (biases, norms, the order of a block), as of version 4.57.
#include "workload/hugging_face_kinds.hpp"

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

// The common parts of Llama and most later decoders.
#define LLAMA_STYLE "gated: true, norm: rms_norm, bias: false, position: rope"
#define GEMMA_STYLE LLAMA_STYLE ", activation: gelu"
#define GEMMA_NAMES "hidden_activation: hidden_act, _sliding_window_pattern: sliding_window_pattern"
#define GPT2_NAMES                                                                                         \
  "n_embd: hidden_size, n_layer: num_hidden_layers, n_head: num_attention_heads, n_inner: "                \
  "intermediate_size, n_positions: max_position_embeddings, activation_function: hidden_act, attn_pdrop: " \
  "attention_dropout, resid_pdrop: hidden_dropout"
#define VIT_DEFAULTS                                                                                      \
  "hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, num_channels: 3, hidden_act: gelu, " \
  "qkv_bias: true, hidden_dropout_prob: 0.0"
#define VIT_IGNORED "encoder_stride pooler_output_size pooler_act out_features out_indices stage_names"
#define SWIN_DEFAULTS                                                                                       \
  "image_size: 224, patch_size: 4, num_channels: 3, embed_dim: 96, depths: 2 2 6 2, num_heads: 3 6 12 24, " \
  "window_size: 7, mlp_ratio: 4.0, qkv_bias: true, drop_path_rate: 0.1, hidden_act: gelu"
#define SWIN_IGNORED "encoder_stride out_features out_indices stage_names num_layers hidden_size path_norm"
#define CONVNEXT_DEFAULTS                                                                             \
  "num_channels: 3, patch_size: 4, depths: 3 3 9 3, hidden_sizes: 96 192 384 768, hidden_act: gelu, " \
  "layer_scale_init_value: 1e-6, drop_path_rate: 0.0, image_size: 224"
#define CONVNEXT_IGNORED "out_features out_indices stage_names num_stages"
#define BERT_DEFAULTS                                                                                        \
  "vocab_size: 30522, hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, intermediate_size: " \
  "3072, max_position_embeddings: 512, type_vocab_size: 2, hidden_act: gelu"

constexpr std::array read_kinds{
    HuggingFaceKind{"llama", "decoder", LLAMA_STYLE,
                    "vocab_size: 32000, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, "
                    "tie_word_embeddings: false"},
    HuggingFaceKind{"mistral", "decoder", LLAMA_STYLE,
                    "vocab_size: 32000, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, "
                    "num_attention_heads: 32, num_key_value_heads: 8, hidden_act: silu, "
                    "max_position_embeddings: 131072, sliding_window: 4096, tie_word_embeddings: false"},
    HuggingFaceKind{"mixtral", "decoder", LLAMA_STYLE,
                    "vocab_size: 32000, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, "
                    "num_attention_heads: 32, num_key_value_heads: 8, hidden_act: silu, "
                    "max_position_embeddings: 131072, num_experts: 8, num_experts_per_tok: 2, "
                    "tie_word_embeddings: false",
                    "num_local_experts: num_experts"},
    HuggingFaceKind{"qwen2", "decoder", LLAMA_STYLE ", qkv_bias: true",
                    "vocab_size: 151936, hidden_size: 4096, intermediate_size: 22016, num_hidden_layers: 32, "
                    "num_attention_heads: 32, num_key_value_heads: 32, hidden_act: silu, "
                    "max_position_embeddings: 32768, use_sliding_window: false, sliding_window: 4096, "
                    "max_window_layers: 28, tie_word_embeddings: false"},
    HuggingFaceKind{"qwen2_moe", "decoder", LLAMA_STYLE ", qkv_bias: true, shared_expert_gate: true",
                    "vocab_size: 151936, hidden_size: 2048, intermediate_size: 5632, num_hidden_layers: 24, "
                    "num_attention_heads: 16, num_key_value_heads: 16, hidden_act: silu, "
                    "max_position_embeddings: 32768, use_sliding_window: false, sliding_window: 4096, "
                    "max_window_layers: 28, num_experts: 60, num_experts_per_tok: 4, moe_intermediate_size: "
                    "1408, shared_expert_intermediate_size: 5632, tie_word_embeddings: false"},
    HuggingFaceKind{"qwen3", "decoder", LLAMA_STYLE ", qk_norm: heads",
                    "vocab_size: 151936, hidden_size: 4096, intermediate_size: 22016, num_hidden_layers: 32, "
                    "num_attention_heads: 32, num_key_value_heads: 32, head_dim: 128, hidden_act: silu, "
                    "max_position_embeddings: 32768, use_sliding_window: false, sliding_window: 4096, "
                    "max_window_layers: 28, tie_word_embeddings: false"},
    HuggingFaceKind{"qwen3_moe", "decoder", LLAMA_STYLE ", qk_norm: heads",
                    "vocab_size: 151936, hidden_size: 2048, intermediate_size: 6144, num_hidden_layers: 24, "
                    "num_attention_heads: 32, num_key_value_heads: 4, hidden_act: silu, "
                    "max_position_embeddings: 32768, use_sliding_window: false, sliding_window: 4096, "
                    "num_experts: 128, num_experts_per_tok: 8, moe_intermediate_size: 768, "
                    "tie_word_embeddings: false",
                    "num_local_experts: num_experts", "max_window_layers"},
    HuggingFaceKind{"gemma", "decoder", GEMMA_STYLE,
                    "vocab_size: 256000, hidden_size: 3072, intermediate_size: 24576, num_hidden_layers: 28, "
                    "num_attention_heads: 16, num_key_value_heads: 16, head_dim: 256, "
                    "max_position_embeddings: 8192, tie_word_embeddings: true",
                    GEMMA_NAMES},
    HuggingFaceKind{"gemma2", "decoder", GEMMA_STYLE ", norm_place: both",
                    "vocab_size: 256000, hidden_size: 2304, intermediate_size: 9216, num_hidden_layers: 26, "
                    "num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256, max_position_embeddings: "
                    "8192, sliding_window: 4096, sliding_window_pattern: 2, final_logit_softcapping: 30.0, "
                    "attn_logit_softcapping: 50.0, tie_word_embeddings: true",
                    GEMMA_NAMES},
    HuggingFaceKind{"gemma3_text", "decoder", GEMMA_STYLE ", norm_place: both, qk_norm: heads",
                    "vocab_size: 262208, hidden_size: 2304, intermediate_size: 9216, num_hidden_layers: 26, "
                    "num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256, max_position_embeddings: "
                    "131072, sliding_window: 4096, sliding_window_pattern: 6, tie_word_embeddings: true",
                    GEMMA_NAMES, "use_bidirectional_attention"},
    HuggingFaceKind{"phi3", "decoder", LLAMA_STYLE ", joined_projections: true",
                    "vocab_size: 32064, hidden_size: 3072, intermediate_size: 8192, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 4096, "
                    "tie_word_embeddings: false",
                    "resid_pdrop: hidden_dropout"},
    HuggingFaceKind{"phi", "decoder", "position: rope, head_bias: true, halves: parallel_one_norm",
                    "vocab_size: 51200, hidden_size: 2048, intermediate_size: 8192, num_hidden_layers: 24, "
                    "num_attention_heads: 32, hidden_act: gelu_new, max_position_embeddings: 2048, "
                    "partial_rotary_factor: 0.5, tie_word_embeddings: false",
                    "resid_pdrop: hidden_dropout"},
    HuggingFaceKind{"gpt2", "decoder", "position: learned, joined_projections: true",
                    "vocab_size: 50257, hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, "
                    "max_position_embeddings: 1024, hidden_act: gelu_new, hidden_dropout: 0.1, "
                    "attention_dropout: 0.1, tie_word_embeddings: true",
                    GPT2_NAMES, "n_ctx"},
    HuggingFaceKind{"gpt_bigcode", "decoder", "position: learned, joined_projections: true",
                    "vocab_size: 50257, hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, "
                    "max_position_embeddings: 1024, hidden_act: gelu_new, hidden_dropout: 0.1, "
                    "attention_dropout: 0.1, multi_query: true, tie_word_embeddings: true",
                    GPT2_NAMES,
                    "n_ctx attention_softmax_in_fp32 scale_attention_softmax_in_fp32 inference_runner "
                    "validate_runner_input pre_allocate_kv_cache max_sequence_length max_batch_size"},
    HuggingFaceKind{"gptj", "decoder",
                    "position: rope, qkv_bias: false, output_bias: false, head_bias: true, halves: "
                    "parallel_one_norm",
                    "vocab_size: 50400, hidden_size: 4096, num_hidden_layers: 28, num_attention_heads: 16, "
                    "max_position_embeddings: 2048, rotary_dim: 64, hidden_act: gelu_new, "
                    "tie_word_embeddings: false",
                    GPT2_NAMES, "n_ctx rotary scale_attn_weights"},
    HuggingFaceKind{
        "gpt_neox", "decoder", "position: rope, joined_projections: true",
        "vocab_size: 50432, hidden_size: 6144, num_hidden_layers: 44, num_attention_heads: 64, "
        "intermediate_size: 24576, hidden_act: gelu, partial_rotary_factor: 0.25, max_position_embeddings: "
        "2048, use_parallel_residual: true, tie_word_embeddings: false",
        "rotary_pct: partial_rotary_factor"},
    HuggingFaceKind{"gpt_oss", "decoder",
                    LLAMA_STYLE
                    ", activation: clipped_silu, qkv_bias: true, output_bias: true, mlp_bias: true, "
                    "router_bias: true, attention_sinks: true",
                    "vocab_size: 201088, hidden_size: 2880, intermediate_size: 2880, num_hidden_layers: 36, "
                    "num_attention_heads: 64, num_key_value_heads: 8, head_dim: 64, num_experts: 128, "
                    "num_experts_per_tok: 4, sliding_window: 128, sliding_window_pattern: 2, "
                    "max_position_embeddings: 131072, tie_word_embeddings: false",
                    "num_local_experts: num_experts",
                    "hidden_act experts_per_token swiglu_limit swiglu_alpha initial_context_length"},
    HuggingFaceKind{"opt", "decoder", "position: learned, norm_bias: true",
                    "vocab_size: 50272, hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, "
                    "intermediate_size: 3072, max_position_embeddings: 2048, position_offset: 2, hidden_act: "
                    "relu, hidden_dropout: 0.1, attention_dropout: 0.0, do_layer_norm_before: true, "
                    "tie_word_embeddings: true",
                    "d_model: hidden_size, ffn_dim: intermediate_size, activation_function: hidden_act, "
                    "dropout: hidden_dropout, word_embed_proj_dim: embedding_size, enable_bias: use_bias"},
    HuggingFaceKind{"bloom", "decoder", "position: alibi, embedding_norm: true, joined_projections: true",
                    "vocab_size: 250880, hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 8, "
                    "hidden_act: gelu, max_position_embeddings: 2048, tie_word_embeddings: true",
                    "n_embed: hidden_size, n_layer: num_hidden_layers, n_head: num_attention_heads, "
                    "seq_length: max_position_embeddings",
                    "apply_residual_connection_post_layernorm slow_but_exact masked_softmax_fusion "
                    "bias_dropout_fusion offset_alibi unk_token_id skip_bias_add skip_bias_add_qkv "
                    "attention_softmax_in_fp32"},
    HuggingFaceKind{"falcon", "decoder", "norm_bias: true, joined_projections: true",
                    "vocab_size: 65024, hidden_size: 4544, num_hidden_layers: 32, num_attention_heads: 71, "
                    "hidden_act: gelu, max_position_embeddings: 2048, use_bias: false, multi_query: true, "
                    "parallel_attn: true, new_decoder_architecture: false, alibi: false, "
                    "tie_word_embeddings: true",
                    "n_embed: hidden_size, n_layer: num_hidden_layers, n_head: num_attention_heads, "
                    "n_head_kv: num_kv_heads, ffn_hidden_size: intermediate_size, activation: hidden_act, "
                    "bias: use_bias",
                    "apply_residual_connection_post_layernorm"},
    HuggingFaceKind{"olmo", "decoder", "gated: true, norm: plain_layer_norm, bias: false, position: rope",
                    "vocab_size: 50304, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, "
                    "tie_word_embeddings: false"},
    HuggingFaceKind{"olmo2", "decoder", LLAMA_STYLE ", norm_place: output, qk_norm: whole",
                    "vocab_size: 50304, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, "
                    "tie_word_embeddings: false"},
    HuggingFaceKind{"olmo3", "decoder", LLAMA_STYLE ", norm_place: output, qk_norm: whole",
                    "vocab_size: 50304, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, "
                    "sliding_window: 4096, sliding_window_pattern: 4, tie_word_embeddings: false"},
    HuggingFaceKind{"olmoe", "decoder", LLAMA_STYLE ", qk_norm: whole",
                    "vocab_size: 50304, hidden_size: 2048, intermediate_size: 2048, num_hidden_layers: 16, "
                    "num_attention_heads: 16, hidden_act: silu, max_position_embeddings: 4096, num_experts: "
                    "64, num_experts_per_tok: 8, tie_word_embeddings: false"},
    HuggingFaceKind{"starcoder2", "decoder", "norm_bias: true, position: rope",
                    "vocab_size: 49152, hidden_size: 3072, intermediate_size: 12288, num_hidden_layers: 30, "
                    "num_attention_heads: 24, num_key_value_heads: 2, hidden_act: gelu_pytorch_tanh, "
                    "max_position_embeddings: 4096, use_bias: true, tie_word_embeddings: true",
                    "residual_dropout: hidden_dropout", "activation_function mlp_type norm_type"},
    HuggingFaceKind{"granite", "decoder", LLAMA_STYLE,
                    "vocab_size: 32000, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, "
                    "tie_word_embeddings: false"},
    HuggingFaceKind{"granitemoe", "decoder", LLAMA_STYLE,
                    "vocab_size: 32000, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, num_experts: "
                    "8, num_experts_per_tok: 2, tie_word_embeddings: false",
                    "num_local_experts: num_experts, shared_intermediate_size: "
                    "shared_expert_intermediate_size"},
    HuggingFaceKind{"granitemoeshared", "decoder", LLAMA_STYLE,
                    "vocab_size: 32000, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, num_experts: "
                    "8, num_experts_per_tok: 2, tie_word_embeddings: false",
                    "num_local_experts: num_experts, shared_intermediate_size: "
                    "shared_expert_intermediate_size"},
    HuggingFaceKind{"deepseek_v2", "decoder", LLAMA_STYLE,
                    "vocab_size: 32000, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
                    "num_attention_heads: 32, hidden_act: silu, max_position_embeddings: 2048, q_lora_rank: "
                    "1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, "
                    "num_experts: 64, n_shared_experts: 2, moe_intermediate_size: 1407, "
                    "tie_word_embeddings: false",
                    "n_routed_experts: num_experts", "num_key_value_heads head_dim topk_method"},
    HuggingFaceKind{"deepseek_v3", "decoder", LLAMA_STYLE ", router_correction: true",
                    "vocab_size: 129280, hidden_size: 7168, intermediate_size: 18432, num_hidden_layers: 61, "
                    "num_attention_heads: 128, hidden_act: silu, max_position_embeddings: 4096, q_lora_rank: "
                    "1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, "
                    "num_experts: 256, num_experts_per_tok: 8, n_shared_experts: 1, moe_intermediate_size: "
                    "2048, first_k_dense_replace: 3, tie_word_embeddings: false",
                    "n_routed_experts: num_experts, num_local_experts: num_experts",
                    "num_key_value_heads head_dim topk_method rope_interleave"},
    HuggingFaceKind{"stablelm", "decoder", "gated: true, bias: false, norm_bias: true, position: rope",
                    "vocab_size: 50304, hidden_size: 2560, intermediate_size: 6912, num_hidden_layers: 32, "
                    "num_attention_heads: 32, num_key_value_heads: 32, hidden_act: silu, "
                    "max_position_embeddings: 4096, partial_rotary_factor: 0.25, use_parallel_residual: "
                    "false, tie_word_embeddings: false",
                    "use_qkv_bias: qkv_bias, rope_pct: partial_rotary_factor",
                    "norm_eps rotary_scaling_factor"},
    HuggingFaceKind{"cohere", "decoder",
                    "gated: true, bias: false, position: rope, halves: parallel_one_norm",
                    "vocab_size: 256000, hidden_size: 8192, intermediate_size: 22528, num_hidden_layers: 40, "
                    "num_attention_heads: 64, hidden_act: silu, max_position_embeddings: 8192, "
                    "tie_word_embeddings: true",
                    "", "logit_scale"},
    HuggingFaceKind{"cohere2", "decoder",
                    "gated: true, bias: false, position: rope, halves: parallel_one_norm",
                    "vocab_size: 256000, hidden_size: 8192, intermediate_size: 22528, num_hidden_layers: 40, "
                    "num_attention_heads: 64, hidden_act: silu, max_position_embeddings: 8192, "
                    "sliding_window: 4096, sliding_window_pattern: 4, tie_word_embeddings: true",
                    "_sliding_window_pattern: sliding_window_pattern",
                    "logit_scale rotary_pct position_embedding_type order_of_interleaved_layers "
                    "use_embedding_sharing use_gated_activation use_parallel_block use_parallel_embedding"},
    HuggingFaceKind{"smollm3", "decoder", LLAMA_STYLE,
                    "vocab_size: 128256, hidden_size: 2048, intermediate_size: 11008, num_hidden_layers: 36, "
                    "num_attention_heads: 16, num_key_value_heads: 4, hidden_act: silu, "
                    "max_position_embeddings: 32768, use_sliding_window: false, tie_word_embeddings: true",
                    "", "max_window_layers"},
    HuggingFaceKind{"phimoe", "decoder", "gated: true, bias: false, norm_bias: true, position: rope",
                    "vocab_size: 32064, hidden_size: 4096, intermediate_size: 6400, num_hidden_layers: 32, "
                    "num_attention_heads: 32, num_key_value_heads: 8, hidden_act: silu, "
                    "max_position_embeddings: 131072, num_experts: 16, num_experts_per_tok: 2, "
                    "attention_bias: false, lm_head_bias: false, tie_word_embeddings: false",
                    "num_local_experts: num_experts", "input_jitter_noise router_jitter_noise"},
    HuggingFaceKind{"glm", "decoder", LLAMA_STYLE,
                    "vocab_size: 151552, hidden_size: 4096, intermediate_size: 13696, num_hidden_layers: 40, "
                    "num_attention_heads: 32, num_key_value_heads: 2, head_dim: 128, hidden_act: silu, "
                    "max_position_embeddings: 131072, partial_rotary_factor: 0.5, tie_word_embeddings: false",
                    "attention_bias: qkv_bias"},
    HuggingFaceKind{"glm4", "decoder", LLAMA_STYLE ", norm_place: both",
                    "vocab_size: 151552, hidden_size: 4096, intermediate_size: 13696, num_hidden_layers: 40, "
                    "num_attention_heads: 32, num_key_value_heads: 2, head_dim: 128, hidden_act: silu, "
                    "max_position_embeddings: 131072, partial_rotary_factor: 0.5, tie_word_embeddings: false",
                    "attention_bias: qkv_bias"},
    HuggingFaceKind{
        "llama4_text", "decoder", LLAMA_STYLE,
        "vocab_size: 202048, hidden_size: 5120, moe_intermediate_size: 8192, intermediate_size: "
        "16384, num_hidden_layers: 48, num_attention_heads: 40, num_key_value_heads: 8, head_dim: "
        "128, hidden_act: silu, max_position_embeddings: 131072, num_experts: 16, "
        "num_experts_per_tok: 1, n_shared_experts: 1, decoder_sparse_step: 1, "
        "tie_word_embeddings: false",
        "intermediate_size: moe_intermediate_size, intermediate_size_mlp: intermediate_size, "
        "num_local_experts: num_experts, interleave_moe_layer_step: decoder_sparse_step, "
        "use_qk_norm: qk_norm_without_scale",
        "attn_scale attn_temperature_tuning floor_scale for_llm_compressor layer_types "
        "moe_layers"},
    HuggingFaceKind{"bert", "bert", "", BERT_DEFAULTS},
    HuggingFaceKind{"roberta", "bert", "head: masked_words",
                    "vocab_size: 50265, hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, "
                    "intermediate_size: 3072, max_position_embeddings: 512, type_vocab_size: 2, hidden_act: "
                    "gelu"},
    HuggingFaceKind{"xlm-roberta", "bert", "head: masked_words",
                    "vocab_size: 30522, hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, "
                    "intermediate_size: 3072, max_position_embeddings: 512, type_vocab_size: 2, hidden_act: "
                    "gelu"},
    HuggingFaceKind{"distilbert", "bert", "head: masked_words, segments: 0",
                    "vocab_size: 30522, hidden_size: 768, num_hidden_layers: 6, num_attention_heads: 12, "
                    "intermediate_size: 3072, max_position_embeddings: 512, hidden_act: gelu",
                    "dim: hidden_size, n_layers: num_hidden_layers, n_heads: num_attention_heads, "
                    "hidden_dim: intermediate_size, activation: hidden_act",
                    "sinusoidal_pos_embds qa_dropout seq_classif_dropout tie_weights_ dropout "
                    "attention_dropout"},
    HuggingFaceKind{"t5", "encoder_decoder", "style: t5",
                    "vocab_size: 32128, hidden_size: 512, head_dim: 64, intermediate_size: 2048, "
                    "num_hidden_layers: 6, num_attention_heads: 8, position_buckets: 32, dropout_rate: 0.1, "
                    "feed_forward_proj: relu, tie_word_embeddings: true",
                    "d_model: hidden_size, d_kv: head_dim, d_ff: intermediate_size, num_layers: "
                    "num_hidden_layers, num_heads: num_attention_heads, relative_attention_num_buckets: "
                    "position_buckets",
                    "relative_attention_max_distance n_positions is_gated_act dense_act_fn "
                    "classifier_dropout max_position_embeddings"},
    HuggingFaceKind{"vit", "vit", "",
                    VIT_DEFAULTS ", intermediate_size: 3072, patch_size: 16, image_size: 224", "",
                    VIT_IGNORED},
    HuggingFaceKind{"deit", "vit", "distilled: true",
                    VIT_DEFAULTS ", intermediate_size: 3072, patch_size: 16, image_size: 224", "",
                    VIT_IGNORED},
    HuggingFaceKind{"dinov2", "vit", "layer_scale: true, mean_head: true",
                    VIT_DEFAULTS ", mlp_ratio: 4, patch_size: 14, image_size: 224, use_mask_token: true", "",
                    VIT_IGNORED " layerscale_value apply_layernorm reshape_hidden_states"},
    HuggingFaceKind{"swin", "swin", "", SWIN_DEFAULTS, "", SWIN_IGNORED},
    HuggingFaceKind{"swinv2", "swin", "version: 2, key_bias: false", SWIN_DEFAULTS, "",
                    SWIN_IGNORED " pretrained_window_sizes"},
    HuggingFaceKind{"convnext", "convnext", "", CONVNEXT_DEFAULTS, "", CONVNEXT_IGNORED},
    HuggingFaceKind{"convnextv2", "convnext", "version: 2", CONVNEXT_DEFAULTS, "",
                    CONVNEXT_IGNORED " layer_scale_init_value"},
    HuggingFaceKind{"regnet", "regnet", "",
                    "embedding_size: 32, depths: 2 6 12 2, hidden_sizes: 128 192 512 1088, groups_width: 64, "
                    "layer_type: y, num_channels: 3, hidden_act: relu",
                    "", "out_features out_indices stage_names"},
    HuggingFaceKind{"resnet", "resnet", "",
                    "embedding_size: 64, depths: 3 4 6 3, hidden_sizes: 256 512 1024 2048, layer_type: "
                    "bottleneck, num_channels: 3, hidden_act: relu, downsample_in_bottleneck: false",
                    "", "out_features out_indices stage_names"},
    // huggingface/diffusers src/diffusers/models/unets/unet_2d_condition.py
    HuggingFaceKind{
        "UNet2DConditionModel", "diffusion_unet", "",
        "in_channels: 4, out_channels: 4, block_out_channels: 320 640 1280 1280, layers_per_block: 2, "
        "cross_attention_dim: 1280, attention_head_dim: 8, transformer_layers_per_block: 1, norm_num_groups: "
        "32, "
        "mid_block_type: UNetMidBlock2DCrossAttn, "
        "down_block_types: CrossAttnDownBlock2D CrossAttnDownBlock2D CrossAttnDownBlock2D DownBlock2D, "
        "up_block_types: UpBlock2D CrossAttnUpBlock2D CrossAttnUpBlock2D CrossAttnUpBlock2D",
        "",
        "_class_name _diffusers_version act_fn addition_embed_type_num_heads addition_time_embed_dim "
        "center_input_sample downsample_padding flip_sin_to_cos freq_shift mid_block_only_cross_attention "
        "mid_block_scale_factor norm_eps resnet_out_scale_factor resnet_skip_time_act time_embedding_act_fn "
        "timestep_post_act upcast_attention use_linear_projection"}};

#undef LLAMA_STYLE
#undef GEMMA_STYLE
#undef GEMMA_NAMES
#undef GPT2_NAMES
#undef BERT_DEFAULTS
#undef VIT_DEFAULTS
#undef VIT_IGNORED
#undef SWIN_DEFAULTS
#undef SWIN_IGNORED
#undef CONVNEXT_DEFAULTS
#undef CONVNEXT_IGNORED

/// Texts, names of tokens, numbers of the initial weights and of rotations, settings of generation.
constexpr std::array without_effect{"_attn_implementation",
                                    "_attn_implementation_autoset",
                                    "_commit_hash",
                                    "_name_or_path",
                                    "_num_labels",
                                    "architectures",
                                    "attention_multiplier",
                                    "attn_implementation",
                                    "auto_map",
                                    "aux_loss_alpha",
                                    "bad_words_ids",
                                    "begin_suppress_tokens",
                                    "bos_token_id",
                                    "cache_implementation",
                                    "chunk_size_feed_forward",
                                    "classifier_dropout",
                                    "classifier_dropout_prob",
                                    "cls_token_id",
                                    "cross_attention_hidden_size",
                                    "decoder_start_token_id",
                                    "diversity_penalty",
                                    "do_sample",
                                    "dtype",
                                    "early_stopping",
                                    "embd_pdrop",
                                    "embedding_dropout",
                                    "embedding_multiplier",
                                    "encoder_no_repeat_ngram_size",
                                    "eos_token_id",
                                    "ep_size",
                                    "exponential_decay_length_penalty",
                                    "finetuning_task",
                                    "forced_bos_token_id",
                                    "forced_eos_token_id",
                                    "generation_config",
                                    "gradient_checkpointing",
                                    "hidden_dropout_prob",
                                    "attention_probs_dropout_prob",
                                    "id2label",
                                    "init_std",
                                    "initializer_factor",
                                    "initializer_range",
                                    "is_composition",
                                    "is_decoder",
                                    "is_encoder_decoder",
                                    "is_llama_config",
                                    "label2id",
                                    "layer_norm_eps",
                                    "layer_norm_epsilon",
                                    "length_penalty",
                                    "logits_scaling",
                                    "mask_token_id",
                                    "max_length",
                                    "min_length",
                                    "model_max_length",
                                    "model_type",
                                    "n_group",
                                    "name_or_path",
                                    "no_repeat_ngram_size",
                                    "norm_eps",
                                    "norm_epsilon",
                                    "norm_topk_prob",
                                    "num_beam_groups",
                                    "num_beams",
                                    "num_labels",
                                    "num_return_sequences",
                                    "original_max_position_embeddings",
                                    "output_attentions",
                                    "output_hidden_states",
                                    "output_past",
                                    "output_router_logits",
                                    "output_scores",
                                    "pad_token_id",
                                    "position_embedding_type",
                                    "prefix",
                                    "pretraining_tp",
                                    "problem_type",
                                    "query_pre_attn_scalar",
                                    "remove_invalid_values",
                                    "reorder_and_upcast_attn",
                                    "repetition_penalty",
                                    "residual_multiplier",
                                    "return_dict",
                                    "return_dict_in_generate",
                                    "rms_norm_eps",
                                    "rope_interleaved",
                                    "rope_local_base_freq",
                                    "rope_scaling",
                                    "rope_theta",
                                    "rotary_emb_base",
                                    "routed_scaling_factor",
                                    "router_aux_loss_coef",
                                    "router_jitter_noise",
                                    "scale_attn_by_inverse_layer_idx",
                                    "scale_attn_weights",
                                    "scoring_func",
                                    "sep_token_id",
                                    "seq_aux",
                                    "summary_activation",
                                    "summary_first_dropout",
                                    "summary_proj_to_labels",
                                    "summary_type",
                                    "summary_use_proj",
                                    "suppress_tokens",
                                    "task_specific_params",
                                    "temperature",
                                    "tf_legacy_loss",
                                    "tokenizer_class",
                                    "top_k",
                                    "top_p",
                                    "topk_group",
                                    "torch_dtype",
                                    "torchscript",
                                    "transformers.js_config",
                                    "transformers_version",
                                    "typical_p",
                                    "unk_token_id",
                                    "unsloth_fixed",
                                    "unsloth_version",
                                    "use_bfloat16",
                                    "use_cache",
                                    "use_flash_attn"};

}  // namespace

std::span<const HuggingFaceKind> hugging_face_kinds() { return read_kinds; }

bool is_without_effect(std::string_view key) {
  return std::ranges::find(without_effect, key) != without_effect.end();
}

}  // namespace trainyard
