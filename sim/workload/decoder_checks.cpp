#include "workload/decoder_checks.hpp"

#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

namespace trainyard {
namespace {

/// Keys of experts need experts, which need a number for each token.
bool are_valid_experts(const std::string& key, const DecoderHyperparameters& decoder,
                       config::Problems& problems) {
  const auto of_flag = [](bool flag) { return flag ? std::optional(1) : std::nullopt; };
  const auto of_list = [](const std::vector<int>& list) {
    return list.empty() ? std::nullopt : std::optional(list.front());
  };
  const auto needs_experts = [&](const std::optional<int>& value, const char* name) {
    if (!value || decoder.experts) return true;
    problems.error(fmt::format("{}.{}", key, name), fmt::format("'{}' needs 'experts'", name),
                   "add 'experts: 8', or leave it out");
    return false;
  };
  if (!needs_experts(decoder.experts_per_token, "experts_per_token") ||
      !needs_experts(decoder.expert_ffn, "expert_ffn") ||
      !needs_experts(decoder.shared_expert_ffn, "shared_expert_ffn") ||
      !needs_experts(decoder.first_dense_layers, "first_dense_layers") ||
      !needs_experts(of_flag(decoder.router_bias), "router_bias") ||
      !needs_experts(of_flag(decoder.router_correction), "router_correction") ||
      !needs_experts(of_list(decoder.dense_blocks), "dense_blocks") ||
      !needs_experts(decoder.moe_every, "moe_every"))
    return false;
  if (decoder.shared_expert_gate && !decoder.shared_expert_ffn) {
    problems.error(key + ".shared_expert_gate", "'shared_expert_gate' needs 'shared_expert_ffn'",
                   "add 'shared_expert_ffn: 5632', or leave it out");
    return false;
  }
  if (!decoder.experts) return true;
  if (!decoder.experts_per_token) {
    problems.error(key + ".experts", "'experts' needs 'experts_per_token'", "add 'experts_per_token: 2'");
    return false;
  }
  if (*decoder.experts_per_token > *decoder.experts) {
    problems.error(key + ".experts_per_token",
                   fmt::format("a token cannot pass through {} of {} experts", *decoder.experts_per_token,
                               *decoder.experts),
                   fmt::format("use {} at most", *decoder.experts));
    return false;
  }
  if (static_cast<double>(decoder.sequence_length) * *decoder.experts_per_token >
      std::numeric_limits<int>::max()) {
    problems.error(key + ".sequence_length",
                   fmt::format("{} tokens with {} experts each are more than 2^31 rows",
                               decoder.sequence_length, *decoder.experts_per_token),
                   "shorter sequences");
    return false;
  }
  for (int i = 0; i < decoder.layers; ++i) {
    if (has_experts(decoder, i)) return true;
  }
  problems.error(key + ".experts", fmt::format("none of the {} blocks has experts", decoder.layers),
                 "smaller first_dense_layers or moe_every, or leave out 'experts'");
  return false;
}

/// One of a decoder's keys with which another one is at odds.
struct Conflict {
  bool is_one = false;
  const char* key;
  const char* message;
  const char* hint;
};

bool are_valid_parts(const std::string& key, const DecoderHyperparameters& decoder,
                     config::Problems& problems) {
  const bool is_rotary = decoder.position == DecoderPosition::rope;
  const int head_dim = decoder.head_dim.value_or(decoder.hidden / decoder.heads);
  const bool is_clipped = decoder.activation == DecoderActivation::clipped_silu;
  const auto conflicts = {
      Conflict{decoder.latent_attention && (decoder.kv_heads || decoder.head_dim), "latent_attention",
               "latent attention has heads of its own size", "remove 'kv_heads' and 'head_dim'"},
      Conflict{decoder.latent_attention && (decoder.qk_norm != QkNorm::none || decoder.rope_features),
               "latent_attention", "latent attention has norms and rotated features of its own",
               "remove 'qk_norm' and 'rope_features'"},
      Conflict{
          decoder.qk_norm_bias && (decoder.qk_norm == QkNorm::none || decoder.norm == DecoderNorm::rms_norm),
          "qk_norm_bias", "only layer norms of queries and keys have a bias",
          "qk_norm: heads and norm: layer_norm, or leave it out"},
      Conflict{decoder.latent_attention && !is_rotary, "position",
               "latent attention rotates queries and keys", "position: rope"},
      Conflict{
          !decoder.sliding_window && (decoder.full_attention_every || !decoder.full_attention_blocks.empty()),
          decoder.full_attention_every ? "full_attention_every" : "full_attention_blocks",
          "every block attends to all tokens without 'sliding_window'", "add 'sliding_window: 4096'"},
      Conflict{decoder.sliding_window && !decoder.causal, "causal", "a sliding window ends with its token",
               "causal: true"},
      Conflict{decoder.gated && decoder.activation == DecoderActivation::relu, "activation",
               "a gate has no relu", "gelu or silu, or gated: false"},
      Conflict{is_clipped && !decoder.gated, "activation", "clipped_silu is of a gate", "gated: true"},
      Conflict{decoder.halves != BlockHalves::sequential && decoder.norm_place != NormPlace::before,
               "norm_place", "parallel halves have norms of their inputs only", "norm_place: before"},
      Conflict{decoder.rope_features && !is_rotary, "rope_features", "only rope rotates features",
               "position: rope, or leave it out"},
      Conflict{decoder.rope_features && *decoder.rope_features > head_dim, "rope_features",
               "more features are rotated than a head has", "leave it out to rotate all"}};
  for (const Conflict& conflict : conflicts) {
    if (!conflict.is_one) continue;
    problems.error(fmt::format("{}.{}", key, conflict.key), conflict.message, conflict.hint);
    return false;
  }
  return true;
}

}  // namespace

bool is_valid_decoder(const std::string& key, const DecoderHyperparameters& decoder,
                      config::Problems& problems) {
  if (!decoder.latent_attention && !decoder.head_dim && decoder.hidden % decoder.heads != 0) {
    problems.error(key + ".heads",
                   fmt::format("{} heads cannot share {} features equally", decoder.heads, decoder.hidden),
                   "use a divisor of hidden, or give head_dim");
    return false;
  }
  if (const int kv_heads = decoder.kv_heads.value_or(decoder.heads); decoder.heads % kv_heads != 0) {
    problems.error(
        key + ".kv_heads",
        fmt::format("{} heads cannot share {} heads of keys and values equally", decoder.heads, kv_heads),
        "use a divisor of heads");
    return false;
  }
  if (decoder.positions && decoder.position != DecoderPosition::learned) {
    problems.error(key + ".positions", "only learned positions have a table of them",
                   "remove it, or write 'position: learned'");
    return false;
  }
  if (decoder.positions && decoder.sequence_length > *decoder.positions) {
    problems.error(
        key + ".sequence_length",
        fmt::format("{} tokens, but the model has {} positions", decoder.sequence_length, *decoder.positions),
        "raise " + key + ".positions");
    return false;
  }
  return are_valid_parts(key, decoder, problems) && are_valid_experts(key, decoder, problems);
}

}  // namespace trainyard
