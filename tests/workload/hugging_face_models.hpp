#pragma once
// Configurations of Hugging Face, reduced to the keys that count, with the numbers of parameters that others
// publish for these models.

#include <array>
#include <string_view>

namespace trainyard::testing {

struct HuggingFaceModel {
  std::string_view name;
  double parameters = 0;
  std::string_view source;
  std::string_view keys;  ///< of config.json
};

// keras-team/keras-hub (commit 71453d08f), keras_hub/src/models/*/*_presets.py: "params"
inline constexpr std::string_view keras = "keras-hub";
// safetensors.total of the model's page on huggingface.co, or a count of its tensors that others print
inline constexpr std::string_view hub = "hub";
// torchvision/models: num_params
inline constexpr std::string_view torchvision = "torchvision";
// UNet2DConditionModel.num_parameters(), as others print it
inline constexpr std::string_view diffusers = "diffusers";
// timm, or a count of a timm model that others print
inline constexpr std::string_view timm = "timm";
// sum over the shapes of the tensors in modeling_KIND.py of huggingface/transformers, by a program of its own
inline constexpr std::string_view shapes = "shapes";

inline constexpr std::array hugging_face_models{
    HuggingFaceModel{
        "Llama-2-7b", 6'738'415'616, keras,
        R"("model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                        "num_attention_heads": 32, "vocab_size": 32000, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "Meta-Llama-3-8B", 8'030'261'248, keras,
        R"("model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{"Llama-3.2-1B", 1'235'814'400, hub,
                     R"("model_type": "llama", "head_dim": 64, "hidden_size": 2048, "intermediate_size": 8192,
                        "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size":
                        128256, "tie_word_embeddings": true)"},
    HuggingFaceModel{
        "SmolLM2-135M", 134'515'008, hub,
        R"("model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
                        "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "tie_word_embeddings":
                        true)"},
    HuggingFaceModel{
        "Mistral-7B-v0.1", 7'241'732'096, keras,
        R"("model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers":
                        32, "num_attention_heads": 32, "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size":
                        32000, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "Magistral-Small", 23'572'403'200, keras,
        R"("model_type": "mistral", "head_dim": 128, "hidden_size": 5120, "intermediate_size": 32768,
                        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "sliding_window":
                        null, "vocab_size": 131072, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "Mixtral-8x7B-v0.1", 46'702'792'704, keras,
        R"("model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers":
                        32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8,
                        "num_experts_per_tok": 2, "sliding_window": null, "vocab_size": 32000, "tie_word_embeddings":
                        false)"},
    HuggingFaceModel{
        "Qwen2.5-0.5B", 494'032'768, keras,
        R"("model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
                        "num_attention_heads": 14, "num_key_value_heads": 2, "use_sliding_window": false,
                        "sliding_window": 32768, "max_window_layers": 24, "vocab_size": 151936, "tie_word_embeddings":
                        true)"},
    HuggingFaceModel{
        "Qwen2.5-Math-7B", 7'615'616'512, keras,
        R"("model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
                        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "Qwen2.5-72B", 72'706'203'648, keras,
        R"("model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
                        "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{"Qwen1.5-MoE-A2.7B", 14'315'784'192, keras,
                     R"("model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632,
                        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_hidden_layers": 24,
                        "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok":
                        4, "decoder_sparse_step": 1, "vocab_size": 151936, "tie_word_embeddings": false)"},
    HuggingFaceModel{"Qwen3-0.6B", 596'049'920, keras,
                     R"("model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_size": 1024,
                        "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
                        "num_key_value_heads": 8, "vocab_size": 151936, "tie_word_embeddings": true)"},
    HuggingFaceModel{
        "Qwen3-8B", 8'190'735'360, keras,
        R"("model_type": "qwen3", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288,
                        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size":
                        151936, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "Qwen3-30B-A3B", 30'532'122'624, keras,
        R"("model_type": "qwen3_moe", "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144,
                        "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
                        "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step":
                        1, "mlp_only_layers": [], "vocab_size": 151936, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "Qwen3-235B-A22B", 235'093'634'560, keras,
        R"("model_type": "qwen3_moe", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288,
                        "moe_intermediate_size": 1536, "num_hidden_layers": 94, "num_attention_heads": 64,
                        "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "gemma-2b", 2'506'172'416, keras,
        R"("model_type": "gemma", "head_dim": 256, "hidden_size": 2048, "intermediate_size": 16384,
                        "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1, "vocab_size":
                        256000)"},
    HuggingFaceModel{
        "gemma-7b", 8'537'680'896, keras,
        R"("model_type": "gemma", "head_dim": 256, "hidden_size": 3072, "intermediate_size": 24576,
                        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size":
                        256000)"},
    HuggingFaceModel{
        "gemma-2-2b", 2'614'341'888, keras,
        R"("model_type": "gemma2", "head_dim": 256, "hidden_size": 2304, "intermediate_size": 9216,
                        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "sliding_window":
                        4096, "vocab_size": 256000)"},
    HuggingFaceModel{
        "gemma-2-27b", 27'227'128'320, keras,
        R"("model_type": "gemma2", "head_dim": 128, "hidden_size": 4608, "intermediate_size": 36864,
                        "num_hidden_layers": 46, "num_attention_heads": 32, "num_key_value_heads": 16, "sliding_window":
                        4096, "vocab_size": 256000)"},
    HuggingFaceModel{
        "gemma-3-270m", 268'098'176, keras,
        R"("model_type": "gemma3_text", "head_dim": 256, "hidden_size": 640, "intermediate_size": 2048,
                        "num_hidden_layers": 18, "num_attention_heads": 4, "num_key_value_heads": 1, "sliding_window":
                        512, "vocab_size": 262144)"},
    HuggingFaceModel{
        "gemma-3-1b", 999'885'952, keras,
        R"("model_type": "gemma3_text", "head_dim": 256, "hidden_size": 1152, "intermediate_size": 6912,
                        "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "sliding_window":
                        512, "sliding_window_pattern": 6, "vocab_size": 262144)"},
    // 64 words of 2,560 features more than in keras-hub, which has 262,144
    HuggingFaceModel{
        "gemma-3-4b", 3'880'263'168, keras,
        R"("model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
                        "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}, "vision_config":
                        {"hidden_size": 1152, "model_type": "siglip_vision_model"})"},
    HuggingFaceModel{
        "Phi-3-mini-4k", 3'821'079'552, keras,
        R"("model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
                        "num_attention_heads": 32, "num_key_value_heads": 32, "sliding_window": 2047, "vocab_size":
                        32064, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "phi-4", 14'659'507'200, hub,
        R"("model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
                        "num_attention_heads": 40, "num_key_value_heads": 10, "sliding_window": null, "vocab_size":
                        100352, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "phi-2", 2'779'683'840, hub,
        R"("model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
                        "num_attention_heads": 32, "partial_rotary_factor": 0.4, "qk_layernorm": false, "resid_pdrop":
                        0.1, "vocab_size": 51200, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "phi-1_5", 1'418'270'720, hub,
        R"("model_type": "phi", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
                        "num_attention_heads": 32, "partial_rotary_factor": 0.5, "vocab_size": 51200,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "gpt2", 124'439'808, keras,
        R"("model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions":
                        1024, "vocab_size": 50257)"},
    HuggingFaceModel{
        "gpt2-xl", 1'557'611'200, keras,
        R"("model_type": "gpt2", "n_embd": 1600, "n_head": 25, "n_layer": 48, "n_positions": 1024,
                        "vocab_size": 50257)"},
    HuggingFaceModel{
        "gpt-j-6b", 6'050'882'784, hub,
        R"("model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "n_positions": 2048,
                        "rotary_dim": 64, "vocab_size": 50400, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "gpt-neox-20b", 20'554'567'680, "arXiv 2204.06745",
        R"("model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers":
                        44, "num_attention_heads": 64, "rotary_pct": 0.25, "use_parallel_residual": true, "vocab_size":
                        50432, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "pythia-160m", 162'322'944, "arXiv 2304.01373, table 1",
        R"("model_type": "gpt_neox", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers":
                        12, "num_attention_heads": 12, "rotary_pct": 0.25, "use_parallel_residual": true, "vocab_size":
                        50304, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "pythia-12b", 11'846'072'320, "arXiv 2304.01373, table 1",
        R"("model_type": "gpt_neox", "hidden_size": 5120, "intermediate_size": 20480, "num_hidden_layers":
                        36, "num_attention_heads": 40, "rotary_pct": 0.25, "vocab_size": 50688, "tie_word_embeddings":
                        false)"},
    HuggingFaceModel{
        "gpt-oss-20b", 20'914'757'184, keras,
        R"("model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64,
                        "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8,
                        "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128, "vocab_size": 201088,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "gpt-oss-120b", 116'829'156'672, keras,
        R"("model_type": "gpt_oss", "num_hidden_layers": 36, "num_local_experts": 128, "vocab_size":
                        201088, "tie_word_embeddings": false)"},
    // 2 positions of 768 features more than in keras-hub, which leaves out fairseq's first ones
    HuggingFaceModel{
        "opt-125m", 125'239'296, keras,
        R"("model_type": "opt", "activation_function": "relu", "do_layer_norm_before": true, "ffn_dim":
                        3072, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size":
                        50272, "word_embed_proj_dim": 768)"},
    HuggingFaceModel{
        "opt-350m", 331'196'416, hub,
        R"("model_type": "opt", "activation_function": "relu", "do_layer_norm_before": false, "ffn_dim":
                        4096, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size":
                        50272, "word_embed_proj_dim": 512)"},
    HuggingFaceModel{
        "bloom-560m", 559'214'592, keras,
        R"("model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16, "vocab_size":
                        250880)"},
    HuggingFaceModel{"bloom", 176'247'271'424, "huggingface.co/bigscience/bloom, README.md",
                     R"("model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112,
                        "vocab_size": 250880)"},
    // the hub counts the last projection, which is tied, once more: 7,217,189,760
    HuggingFaceModel{
        "falcon-7b", 6'921'720'704, shapes,
        R"("model_type": "falcon", "alibi": false, "bias": false, "hidden_size": 4544, "multi_query": true,
                        "new_decoder_architecture": false, "num_attention_heads": 71, "num_hidden_layers": 32,
                        "parallel_attn": true, "vocab_size": 65024)"},
    HuggingFaceModel{
        "falcon-rw-1b", 1'311'625'216, keras,
        R"("model_type": "falcon", "alibi": true, "bias": true, "hidden_size": 2048, "multi_query": false,
                        "new_decoder_architecture": false, "num_attention_heads": 32, "num_hidden_layers": 24,
                        "parallel_attn": false, "vocab_size": 50304)"},
    HuggingFaceModel{"falcon-40b", 41'303'293'952, shapes,
                     R"("model_type": "falcon", "alibi": false, "bias": false, "hidden_size": 8192,
                        "new_decoder_architecture": true, "num_attention_heads": 128, "num_hidden_layers": 60,
                        "num_kv_heads": 8, "parallel_attn": true, "vocab_size": 65024)"},
    HuggingFaceModel{
        "OLMo-1B-hf", 1'176'764'416, hub,
        R"("model_type": "olmo", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
                        "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 50304,
                        "tie_word_embeddings": true)"},
    HuggingFaceModel{
        "OLMo-2-1124-7B", 7'298'617'344, hub,
        R"("model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "OLMoE-1B-7B", 6'919'161'856, hub,
        R"("model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16,
                        "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok":
                        8, "vocab_size": 50304, "tie_word_embeddings": false)"},
    HuggingFaceModel{"starcoder2-3b", 3'030'371'328, shapes,
                     R"("model_type": "starcoder2", "hidden_size": 3072, "intermediate_size": 12288,
                        "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2, "sliding_window":
                        4096, "use_bias": true, "vocab_size": 49152)"},
    HuggingFaceModel{
        "starcoder", 15'517'456'384, hub,
        R"("model_type": "gpt_bigcode", "multi_query": true, "n_embd": 6144, "n_head": 48, "n_inner":
                        24576, "n_layer": 40, "n_positions": 8192, "vocab_size": 49152)"},
    HuggingFaceModel{
        "granite-3.3-2b", 2'533'539'840, hub,
        R"("model_type": "granite", "attention_bias": false, "embedding_multiplier": 12.0, "hidden_size":
                        2048, "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 32,
                        "num_key_value_heads": 8, "vocab_size": 49159, "tie_word_embeddings": true)"},
    HuggingFaceModel{
        "granite-3.0-1b-a400m", 1'334'628'352, hub,
        R"("model_type": "granitemoe", "hidden_size": 1024, "intermediate_size": 512, "num_hidden_layers":
                        24, "num_attention_heads": 16, "num_key_value_heads": 8, "num_local_experts": 32,
                        "num_experts_per_tok": 8, "vocab_size": 49155, "tie_word_embeddings": true)"},
    HuggingFaceModel{"DeepSeek-V2-Lite", 15'706'484'224, hub,
                     R"("model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 2048,
                        "intermediate_size": 10944, "kv_lora_rank": 512, "moe_intermediate_size": 1408,
                        "moe_layer_freq": 1, "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16,
                        "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16, "q_lora_rank":
                        null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{"DeepSeek-V2", 235'741'434'880, hub,
                     R"("model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 5120,
                        "intermediate_size": 12288, "kv_lora_rank": 512, "moe_intermediate_size": 1536,
                        "n_routed_experts": 160, "n_shared_experts": 2, "num_attention_heads": 128,
                        "num_experts_per_tok": 6, "num_hidden_layers": 60, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
                        "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400, "tie_word_embeddings": false)"},
    HuggingFaceModel{"DeepSeek-V3", 671'026'419'200, hub,
                     R"("model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168,
                        "intermediate_size": 18432, "kv_lora_rank": 512, "moe_intermediate_size": 2048,
                        "moe_layer_freq": 1, "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128,
                        "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_nextn_predict_layers": 1, "q_lora_rank":
                        1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
                        "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "stablelm-3b-4e1t", 2'795'443'200, shapes,
        R"("model_type": "stablelm", "hidden_size": 2560, "intermediate_size": 6912, "num_hidden_layers":
                        32, "num_attention_heads": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.25,
                        "use_qkv_bias": false, "vocab_size": 50304, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "stablelm-2-1_6b", 1'644'515'328, hub,
        R"("model_type": "stablelm", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers":
                        24, "num_attention_heads": 32, "num_key_value_heads": 32, "use_qkv_bias": true, "vocab_size":
                        100352, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "c4ai-command-r-v01", 34'980'831'232, shapes,
        R"("model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers":
                        40, "num_attention_heads": 64, "num_key_value_heads": 64, "logit_scale": 0.0625, "vocab_size":
                        256000)"},
    HuggingFaceModel{
        "c4ai-command-r-plus", 103'810'674'688, shapes,
        R"("model_type": "cohere", "hidden_size": 12288, "intermediate_size": 33792, "num_hidden_layers":
                        64, "num_attention_heads": 96, "num_key_value_heads": 8, "use_qk_norm": true, "vocab_size":
                        256000)"},
    HuggingFaceModel{
        "SmolLM3-3B", 3'075'098'624, hub,
        R"("model_type": "smollm3", "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers":
                        36, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256,
                        "tie_word_embeddings": true)"},
    HuggingFaceModel{"bert-base-uncased", 110'106'428, hub,
                     R"("model_type": "bert", "hidden_size": 768,
                        "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size":
                        30522)"},
    HuggingFaceModel{
        "bert-large-uncased", 336'226'108, hub,
        R"("model_type": "bert", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
                        "num_hidden_layers": 24, "vocab_size": 30522)"},
    HuggingFaceModel{"roberta-base", 124'697'433, hub,
                     R"("model_type": "roberta", "hidden_size": 768, "intermediate_size": 3072,
                        "max_position_embeddings": 514, "num_attention_heads": 12, "num_hidden_layers": 12,
                        "type_vocab_size": 1, "vocab_size": 50265)"},
    HuggingFaceModel{"distilbert-base-uncased", 66'985'530, hub,
                     R"("model_type": "distilbert", "activation": "gelu", "dim": 768, "hidden_dim": 3072,
                        "max_position_embeddings": 512, "n_heads": 12, "n_layers": 6, "vocab_size": 30522)"},
    HuggingFaceModel{
        "t5-base", 222'903'552, keras,
        R"("model_type": "t5", "d_ff": 3072, "d_kv": 64, "d_model": 768, "num_heads": 12, "num_layers": 12,
                        "vocab_size": 32128)"},
    HuggingFaceModel{
        "flan-t5-base", 247'577'856, keras,
        R"("model_type": "t5", "d_ff": 2048, "d_kv": 64, "d_model": 768, "feed_forward_proj": "gated-gelu",
                        "num_decoder_layers": 12, "num_heads": 12, "num_layers": 12, "tie_word_embeddings": false,
                        "vocab_size": 32128)"},
    HuggingFaceModel{
        "Olmo-3-1025-7B", 7'298'011'136, hub,
        R"("model_type": "olmo3", "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
                        "num_hidden_layers": 32, "num_key_value_heads": 32, "sliding_window": 4096, "vocab_size":
                        100278, "tie_word_embeddings": false)"},
    HuggingFaceModel{
        "c4ai-command-r7b-12-2024", 8'028'033'024, shapes,
        R"("model_type": "cohere2", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 14336,
                        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size":
                        256000)"},
    HuggingFaceModel{"moe-7b-1b-active-shared-experts", 6'370'899'456, shapes,
                     R"("model_type": "granitemoeshared", "hidden_size": 1536, "intermediate_size": 512,
                        "num_attention_heads": 24, "num_hidden_layers": 40, "num_experts_per_tok": 6,
                        "num_key_value_heads": 8, "num_local_experts": 62, "shared_intermediate_size": 1024,
                        "tie_word_embeddings": true, "vocab_size": 49160)"},
    HuggingFaceModel{"xlm-roberta-base", 278'295'186, shapes,
                     R"("model_type": "xlm-roberta", "hidden_size": 768, "intermediate_size": 3072,
                        "max_position_embeddings": 514, "num_attention_heads": 12, "num_hidden_layers": 12,
                        "type_vocab_size": 1, "vocab_size": 250002)"},
    HuggingFaceModel{
        "Phi-3.5-MoE-instruct", 41'873'153'344, shapes,
        R"("model_type": "phimoe", "attention_bias": true, "hidden_size": 4096, "intermediate_size": 6400,
                        "lm_head_bias": true, "num_attention_heads": 32, "num_experts_per_tok": 2,
                        "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 16, "vocab_size":
                        32064)"},
    HuggingFaceModel{
        "phi with qk_layernorm", 2'779'683'840 + 32.0 * 2 * (80 + 80), shapes,
        R"("model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_attention_heads":
                        32, "num_hidden_layers": 32, "qk_layernorm": true, "vocab_size": 51200)"},
    HuggingFaceModel{"vit-base-patch16-224", 86'567'656, timm,
                     R"("model_type": "vit", "hidden_size": 768, "image_size": 224, "intermediate_size": 3072,
                        "num_attention_heads": 12, "num_hidden_layers": 12, "patch_size": 16, "num_labels": 1000)"},
    HuggingFaceModel{
        "deit-base-distilled-patch16-224", 87'338'192, timm,
        R"("model_type": "deit", "hidden_size": 768, "image_size": 224, "intermediate_size": 3072,
                        "num_attention_heads": 12, "num_hidden_layers": 12, "patch_size": 16, "num_labels": 1000)"},
    HuggingFaceModel{"dinov2-base with classes", 86'580'480 + (2 * 768 + 1) * 1000, hub,
                     R"("model_type": "dinov2", "hidden_size": 768, "image_size": 518, "mlp_ratio": 4,
                        "num_attention_heads": 12, "num_hidden_layers": 12, "patch_size": 14, "num_labels": 1000)"},
    HuggingFaceModel{
        "swin-tiny-patch4-window7-224", 28'288'354, torchvision,
        R"("model_type": "swin", "depths": [2, 2, 6, 2], "embed_dim": 96, "hidden_size": 768, "image_size":
                        224, "num_heads": [3, 6, 12, 24], "window_size": 7, "num_labels": 1000)"},
    HuggingFaceModel{"swinv2-tiny-patch4-window8-256", 28'347'154, timm,
                     R"("model_type": "swinv2", "depths": [2, 2, 6, 2], "embed_dim": 96, "hidden_size": 768,
                        "image_size": 256, "num_heads": [3, 6, 12, 24], "window_size": 8, "num_labels": 1000)"},
    HuggingFaceModel{"convnext-tiny-224", 28'589'128, torchvision,
                     R"("model_type": "convnext", "depths": [3, 3, 9, 3], "hidden_sizes": [96, 192, 384, 768],
                        "num_labels": 1000)"},
    HuggingFaceModel{
        "convnextv2-tiny-1k-224", 28'635'496, shapes,
        R"("model_type": "convnextv2", "depths": [3, 3, 9, 3], "hidden_sizes": [96, 192, 384, 768],
                        "num_labels": 1000)"},
    HuggingFaceModel{
        "regnet-y-040", 20'646'656, timm,
        R"("model_type": "regnet", "depths": [2, 6, 12, 2], "groups_width": 64, "hidden_sizes": [128, 192,
                        512, 1088], "layer_type": "y", "num_labels": 1000)"},
    HuggingFaceModel{
        "resnet-50", 25'557'032, torchvision,
        R"("model_type": "resnet", "depths": [3, 4, 6, 3], "embedding_size": 64, "hidden_sizes": [256, 512,
                        1024, 2048], "layer_type": "bottleneck", "num_labels": 1000)"},
    HuggingFaceModel{
        "resnet-18", 11'689'512, torchvision,
        R"("model_type": "resnet", "depths": [2, 2, 2, 2], "embedding_size": 64, "hidden_sizes": [64, 128,
                        256, 512], "layer_type": "basic", "num_labels": 1000)"},
    HuggingFaceModel{
        "stable-diffusion-v1-5/unet", 859'520'964, diffusers,
        R"("_class_name": "UNet2DConditionModel", "attention_head_dim": 8, "block_out_channels": [320, 640,
                        1280, 1280], "cross_attention_dim": 768, "down_block_types": ["CrossAttnDownBlock2D",
                        "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"], "layers_per_block": 2,
                        "sample_size": 64, "_diffusers_version": "0.6.0")"},
    HuggingFaceModel{"stable-diffusion-xl-base-1.0/unet", 2'567'463'684, diffusers,
                     R"("_class_name": "UNet2DConditionModel", "addition_embed_type": "text_time",
                        "attention_head_dim": [5, 10, 20], "block_out_channels": [320, 640, 1280],
                        "cross_attention_dim": 2048, "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D",
                        "CrossAttnDownBlock2D"], "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D",
                        "UpBlock2D"], "projection_class_embeddings_input_dim": 2816, "sample_size": 128,
                        "transformer_layers_per_block": [1, 2, 10], "_diffusers_version": "0.19.0")"}};

}  // namespace trainyard::testing
