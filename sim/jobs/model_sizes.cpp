#include "jobs/model_sizes.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <array>

namespace trainyard::jobs {
namespace {

struct Default {
  std::string_view key, value;
};

// of DecoderHyperparameters
constexpr std::array structure{Default{"norm", "layer_norm"},
                               Default{"position", "learned"},
                               Default{"norm_place", "before"},
                               Default{"halves", "sequential"},
                               Default{"qk_norm", "none"},
                               Default{"qkv_bias", ""},
                               Default{"activation", ""},
                               Default{"embedding_norm", "false"},
                               Default{"embedding_size", ""},
                               Default{"attention_sinks", "false"},
                               Default{"attention_cap", "false"},
                               Default{"sliding_window", ""},
                               Default{"latent_attention.key_value_rank", ""},
                               Default{"shared_expert_ffn", ""},
                               Default{"moe_every", ""},
                               Default{"first_dense_layers", ""}};

constexpr std::array switches{Default{"bias", "true"}, Default{"tied", "true"}, Default{"dropout", "true"},
                              Default{"gated", "false"}, Default{"attention", "unfused"}};

long long whole(const std::string& text) {
  const Parsed<long long> number = parse_integer(text);
  return number ? *number : 0;
}

}  // namespace

std::string_view default_of_decoder(std::string_view key) {
  if (const auto found = std::ranges::find(structure, key, &Default::key); found != structure.end())
    return found->value;
  const auto found = std::ranges::find(switches, key, &Default::key);
  return found == switches.end() ? std::string_view() : found->value;
}

std::string text_in(const config::Node* family, std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot != std::string_view::npos && family != nullptr)
    return text_in(family->find(key.substr(0, dot)), key.substr(dot + 1));
  const config::Node* const value = family == nullptr ? nullptr : family->find(key);
  return value == nullptr ? std::string() : value->scalar;
}

std::vector<std::string> sizes_of(const std::function<std::string(std::string_view)>& text_of,
                                  bool has_structure) {
  const auto value = [&](std::string_view key, const std::string& otherwise) {
    const std::string text = text_of(key);
    return text.empty() ? otherwise : text;
  };
  const std::string hidden = text_of("hidden"), heads = text_of("heads");
  const long long width = whole(hidden), count = std::max(1LL, whole(heads));
  const std::string ffn = value("ffn", std::to_string(4 * width)), experts = value("experts", "0");
  std::vector<std::string> values{text_of("layers"),
                                  hidden,
                                  heads,
                                  value("kv_heads", heads),
                                  ffn,
                                  value("head_dim", std::to_string(width / count)),
                                  value("gated", "false"),
                                  experts,
                                  value("experts_per_token", "0"),
                                  experts == "0" ? "0" : value("expert_ffn", ffn)};
  if (!has_structure) return values;
  for (const Default& one : structure) {
    const std::string text = value(one.key, std::string(one.value));
    values.push_back(one.key == "qk_norm" && text == "true" ? "heads" : text);
  }
  return values;
}

}  // namespace trainyard::jobs
