#include "jobs/model_parts.hpp"

#include "jobs/words.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string>

namespace trainyard::jobs {
namespace {

class ModelParts {
public:
  ModelParts(JobDraft& draft, Tool tool) : draft_(draft), tool_(tool) {}

  void complete() {
    if (tool_ == Tool::nanotron) take_llama();
    take_parts();
  }

private:
  /// Words for several keys, and keys that need a further one.
  void take_parts() {
    if (draft_.has("@query_groups")) {
      const bool is_grouped = tool_ != Tool::megatron || draft_.has("@grouped");
      if (is_grouped)
        for (const char* const name : {"@query_groups", "@grouped"})
          draft_.become(name, "model.decoder.kv_heads", *draft_.text("@query_groups"));
      else
        draft_.ignore("@query_groups");
    }
    draft_.ignore("@grouped");
    if (draft_.text("model.decoder.gated") == "true" && !draft_.has("model.decoder.ffn") &&
        tool_ == Tool::megatron) {
      if (const auto hidden = draft_.number("model.decoder.hidden"))  // arguments.py
        draft_.assume("model.decoder.ffn", std::to_string(*hidden * 8 / 3 / 64 * 64),
                      "Megatron-LM's for --swiglu: 8/3 of the hidden size");
    }
    if (const auto norm = draft_.text("@norm")) {
      if (contains(small_letters(*norm), "rms"))
        draft_.become("@norm", "model.decoder.norm", "rms_norm");
      else
        draft_.become("@norm", "model.decoder.norm", "layer_norm");
    }
    take_attention();
    take_rotated_part();
    take_latent_attention();
    take_expert_blocks();
  }

  void take_attention() {
    const auto text = draft_.text("@attention_backend");
    if (!text) return;
    const std::string word = small_letters(*text);
    constexpr std::array unfused{
        std::string_view{"unfused"},     std::string_view{"local"},
        std::string_view{"eager"},       std::string_view{"disabled"},
        std::string_view{"dot_product"}, std::string_view{"attentionbackend.unfused"}};
    const bool is_unfused = std::ranges::find(unfused, std::string_view(word)) != unfused.end();
    draft_.become("@attention_backend", "model.decoder.attention", is_unfused ? "unfused" : "flash");
  }

  /// nanotron's models are Llama's and Qwen's (models_config.py).
  void take_llama() {
    constexpr std::array parts{Meaning{"gated", "true"},    Meaning{"norm", "rms_norm"},
                               Meaning{"bias", "false"},    Meaning{"position", "rope"},
                               Meaning{"dropout", "false"}, Meaning{"attention", "flash"}};
    for (const auto& [key, value] : parts)
      draft_.assume(fmt::format("model.decoder.{}", key), std::string(value),
                    "models of nanotron are Llama's");
  }

  void take_rotated_part() {
    const auto text = draft_.text("@rotary_part");
    const Parsed<double> part = parse_number(text.value_or("1"));
    const auto hidden = draft_.number("model.decoder.hidden"), heads = draft_.number("model.decoder.heads");
    if (part && *part > 0 && *part < 1 && hidden && heads && *heads > 0 &&
        draft_.text("model.decoder.position") == "rope") {
      const long long head_dim = draft_.number("model.decoder.head_dim").value_or(*hidden / *heads);
      draft_.become("@rotary_part", "model.decoder.rope_features",
                    std::to_string(std::llround(*part * static_cast<double>(head_dim))));
    } else {
      draft_.ignore("@rotary_part");
    }
  }

  void take_latent_attention() {
    struct Part {
      const char* name;
      const char* key;
      const char* otherwise;  ///< megatron/core/transformer/transformer_config.py, MLATransformerConfig
    };
    constexpr std::array parts{Part{"@query_rank", "query_rank", ""},
                               Part{"@key_value_rank", "key_value_rank", "512"},
                               Part{"@plain_dim", "plain_dim", "128"}, Part{"@rope_dim", "rope_dim", "64"},
                               Part{"@value_dim", "value_dim", "128"}};
    const bool has_latents = draft_.has("@latent");
    for (const Part& part : parts) {
      const std::string value = draft_.text(part.name).value_or(has_latents ? part.otherwise : "");
      if (!has_latents || value.empty() || value == "0") {
        draft_.ignore(part.name);
        continue;
      }
      const std::string key = fmt::format("model.decoder.latent_attention.{}", part.key);
      draft_.become(part.name, key, value);
      draft_.become("@latent", key, value);
    }
    if (!has_latents) return;
    // --qk-layernorm are the norms of the latents
    for (const char* const key : {"kv_heads", "head_dim", "qk_norm"})
      draft_.drop(fmt::format("model.decoder.{}", key));
  }

  void take_expert_blocks() {
    const auto text = draft_.text("@expert_blocks");
    if (!text) return;
    const auto layers = draft_.number("model.decoder.layers");
    if (!draft_.has("model.decoder.experts") || !layers) {
      draft_.ignore("@expert_blocks");
      return;
    }
    const auto blocks = expert_blocks(*text, *layers);
    if (!blocks) {
      draft_.differ("@expert_blocks", "every block has experts here");
      return;
    }
    const auto first = std::ranges::find(*blocks, true);
    const auto dense = first - blocks->begin();
    if (std::all_of(first, blocks->end(), [](bool has) { return has; })) {
      if (dense > 0)
        draft_.become("@expert_blocks", "model.decoder.first_dense_layers", std::to_string(dense));
      else
        draft_.ignore("@expert_blocks");
      return;
    }
    std::string list;
    for (std::size_t i = 0; i < blocks->size(); ++i)
      if (!(*blocks)[i]) list += fmt::format("{}{}", list.empty() ? "" : ", ", i);
    draft_.become("@expert_blocks", "model.decoder.dense_blocks", "[" + list + "]");
  }

  JobDraft& draft_;
  Tool tool_;
};

/// "[0,1]*3" as its six values.
bool add_list(std::string_view text, std::vector<bool>& blocks) {
  const std::size_t open = text.find('['), close = text.find(']');
  if (open != 0 || close == std::string_view::npos) return false;
  long long times = 1;
  if (const std::string_view rest = text.substr(close + 1); rest.starts_with('*')) {
    const Parsed<long long> number = parse_integer(rest.substr(1));
    if (!number || *number < 0 || *number > 10'000) return false;
    times = *number;
  } else if (!rest.empty()) {
    return false;
  }
  std::vector<bool> list;
  for (const char c : text.substr(1, close - 1)) {
    if (c != '0' && c != '1' && c != ',') return false;
    if (c != ',') list.push_back(c == '1');
  }
  for (long long i = 0; i < times; ++i) blocks.insert(blocks.end(), list.begin(), list.end());
  return true;
}

}  // namespace

std::optional<std::vector<bool>> expert_blocks(std::string_view text, long long layers) {
  std::string bare;
  for (const char c : text)
    if (std::string_view(" ()'\"").find(c) == std::string_view::npos) bare += c;
  std::vector<bool> blocks;
  if (const Parsed<long long> every = parse_integer(bare); every && *every > 0) {
    for (long long i = 0; i < layers; ++i) blocks.push_back(i % *every == 0);
    return blocks;
  }
  for (std::size_t at = 0; at <= bare.size();) {
    const std::size_t end = std::min(bare.find('+', at), bare.size());
    if (!add_list(std::string_view(bare).substr(at, end - at), blocks)) return std::nullopt;
    at = end + 1;
  }
  if (static_cast<long long>(blocks.size()) != layers) return std::nullopt;
  return blocks;
}

void complete_model_parts(JobDraft& draft, Tool tool) { ModelParts(draft, tool).complete(); }

}  // namespace trainyard::jobs
