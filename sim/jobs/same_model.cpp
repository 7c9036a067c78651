#include "jobs/same_model.hpp"

#include "config/write.hpp"
#include "jobs/words.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace trainyard::jobs {
namespace {

constexpr std::string_view prefix = "model.decoder.";

/// Defaults of the family decoder that do not depend on sizes, or are those of another key ('=').
constexpr std::array family_defaults{Meaning{"kv_heads", "=heads"},
                                     Meaning{"expert_ffn", "=ffn"},
                                     Meaning{"gated", "false"},
                                     Meaning{"norm", "layer_norm"},
                                     Meaning{"norm_place", "before"},
                                     Meaning{"halves", "sequential"},
                                     Meaning{"bias", "true"},
                                     Meaning{"qkv_bias", "=bias"},
                                     Meaning{"output_bias", "=bias"},
                                     Meaning{"mlp_bias", "=bias"},
                                     Meaning{"norm_bias", "=bias"},
                                     Meaning{"head_bias", "false"},
                                     Meaning{"position", "learned"},
                                     Meaning{"embedding_norm", "false"},
                                     Meaning{"final_norm", "true"},
                                     Meaning{"tied", "true"},
                                     Meaning{"dropout", "true"},
                                     Meaning{"attention_dropout", "=dropout"},
                                     Meaning{"qk_norm", "none"},
                                     Meaning{"attention_cap", "false"},
                                     Meaning{"logit_cap", "false"},
                                     Meaning{"attention_sinks", "false"},
                                     Meaning{"moe_every", "1"},
                                     Meaning{"first_dense_layers", "0"},
                                     Meaning{"router_bias", "false"},
                                     Meaning{"router_correction", "false"},
                                     Meaning{"embedding_size", "=hidden"},
                                     Meaning{"shared_expert_gate", "false"}};

constexpr std::array<std::string_view, 7> of_jobs{"sequence_length", "positions",          "attention",
                                                  "causal",          "joined_projections", "pad_vocabulary",
                                                  "vocabulary"};

long long number_in(std::string_view text) {
  const Parsed<long long> number = parse_integer(text);
  return number ? *number : 0;
}

}  // namespace

DecoderValues decoder_of(const JobDraft& draft) {
  DecoderValues decoder;
  for (const auto& [key, value] : draft.values())
    if (key.starts_with(prefix)) decoder[key.substr(prefix.size())] = value;
  return decoder;
}

DecoderValues decoder_of(const config::Document& model) {
  const config::Node* const decoder = model.root.find("decoder");
  DecoderValues values;
  if (decoder == nullptr) return values;
  for (const auto& [key, value] : config::values_by_path(*decoder)) values[key] = value;
  return values;
}

std::string value_or_default(const DecoderValues& decoder, std::string_view key) {
  if (const auto found = decoder.find(key); found != decoder.end()) return found->second;
  const auto of = [&](std::string_view other) { return value_or_default(decoder, other); };
  if (key == "ffn") return std::to_string(4 * number_in(of("hidden")));
  if (key == "head_dim")
    return std::to_string(number_in(of("hidden")) / std::max(1LL, number_in(of("heads"))));
  if (key == "activation") return of("gated") == "true" ? "silu" : "gelu";
  const auto found = std::ranges::find(family_defaults, key, &Meaning::word);
  if (found == family_defaults.end()) return {};
  return found->value.starts_with('=') ? of(found->value.substr(1)) : std::string(found->value);
}

std::vector<std::string> same_models(const config::Catalogue& catalogue, const DecoderValues& wanted) {
  std::vector<std::string> same;
  for (const std::string& name : config::names(catalogue, config::Kind::model)) {
    const DecoderValues model = decoder_of(config::load(config::find(catalogue, config::Kind::model, name)));
    if (model.empty()) continue;
    std::set<std::string_view> keys;
    for (const DecoderValues* const decoder : {&wanted, &model})
      for (const auto& [key, value] : *decoder) keys.insert(key);
    for (const std::string_view key : of_jobs) keys.erase(key);
    if (value_or_default(model, "norm") == "rms_norm") keys.erase("norm_bias");  // it has none
    if (std::ranges::all_of(keys, [&](std::string_view key) {
          return value_or_default(wanted, key) == value_or_default(model, key);
        }))
      same.push_back(name);
  }
  return same;
}

std::string vocabulary_of(std::string_view tokenizer) {
  // entries of the published tokenizers, as their models' config.json has them
  constexpr std::array words{Meaning{"gpt2", "50257"},     Meaning{"llama3", "128256"},
                             Meaning{"llama-3", "128256"}, Meaning{"llama_3", "128256"},
                             Meaning{"llama2", "32000"},   Meaning{"llama-2", "32000"},
                             Meaning{"mixtral", "32000"},  Meaning{"mistral-7b-v0.1", "32000"}};
  const std::string small = small_letters(tokenizer);
  for (const Meaning& meaning : words)
    if (contains(small, meaning.word)) return std::string(meaning.value);
  return {};
}

long long padded(std::string_view vocabulary, long long multiple) {
  const long long size = number_in(vocabulary);
  return (size + multiple - 1) / multiple * multiple;
}

}  // namespace trainyard::jobs
