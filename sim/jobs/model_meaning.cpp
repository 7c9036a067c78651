#include "config/document.hpp"
#include "config/other_names.hpp"
#include "jobs/meaning.hpp"
#include "jobs/words.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {
namespace {

using config::Kind;

constexpr std::string_view sizes_in = "model.decoder.";

/// Parts of public names that say nothing about the layers.
constexpr std::array<std::string_view, 17> decorations{
    "meta-",    "lora_",  "qlora_", "-instruct", "_instruct", "-chat",         "-base",    "-hf",   "-it",
    "-uncased", "-cased", "-v0.1",  "-v0.2",     "-v0.3",     "modelprovider", "provider", "config"};

/// The shipped model that a public name means: "meta-llama/Meta-Llama-3-8B",
/// "torchtune.models.llama3.llama3_8b".
std::string model_named(const config::Catalogue& catalogue, std::string_view name) {
  std::string word = small_letters(name.substr(name.find_last_of('/') + 1));
  if (contains(word, ".models.")) word = word.substr(word.rfind('.') + 1);
  if (contains(word, "modelprovider") || contains(word, "llm.")) word = word.substr(word.rfind('.') + 1);
  for (const std::string_view part : decorations) {
    if (const std::size_t at = word.find(part); at != std::string::npos) word.erase(at, part.size());
  }
  if (word == "gpt2") return "gpt2_small";
  return config::name_meant(catalogue, Kind::model, word);
}

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

/// Sizes of a decoder, with the family's defaults.
class Sizes {
public:
  template <class TextOf>
  explicit Sizes(TextOf text_of) {
    const auto number = [&](const char* key, const std::string& otherwise) {
      const std::string value = text_of(key);
      return value.empty() ? otherwise : value;
    };
    const std::string layers = text_of("layers"), hidden = text_of("hidden"), heads = text_of("heads");
    const long long width = whole(hidden), count = std::max(1LL, whole(heads));
    values_ = {layers,
               hidden,
               heads,
               number("kv_heads", heads),
               number("ffn", std::to_string(4 * width)),
               number("head_dim", std::to_string(width / count)),
               number("gated", "false"),
               number("experts", "0"),
               number("experts_per_token", "0"),
               number("expert_ffn", number("ffn", "0"))};
    if (values_[7] == "0") values_[9] = "0";
  }
  friend bool operator==(const Sizes&, const Sizes&) = default;

private:
  static long long whole(const std::string& text) {
    const Parsed<long long> number = parse_integer(text);
    return number ? *number : 0;
  }
  std::vector<std::string> values_;
};

class ModelChoice {
public:
  ModelChoice(JobDraft& draft, Tool tool, const config::Catalogue& catalogue,
              const std::filesystem::path& folder)
      : draft_(draft), tool_(tool), catalogue_(catalogue), folder_(folder) {}

  void complete() {
    take_parts();
    if (draft_.has("model.decoder.layers") && draft_.has("model.decoder.hidden") &&
        draft_.has("model.decoder.heads"))
      choose_by_sizes();
    else
      choose_by_name();
    draft_.ignore("@positions");
    draft_.ignore("@vocabulary_multiple");
    for (const char* const name : {"@class", "@model", "@model_family", "@flavor", "@model_path"})
      draft_.drop(name);
    keep_keys_of_family();
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
    if (const auto activation = draft_.text("@activation")) {
      if (contains(*activation, "swiglu"))
        draft_.become("@activation", "model.decoder.gated", "true");
      else
        draft_.ignore("@activation");
    }
    draft_.ignore("@activations");
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
    if (const auto position = draft_.text("@position")) {
      const std::string word = small_letters(*position);
      const bool is_known = word == "rope" || word == "none" || word == "alibi";
      draft_.become("@position", "model.decoder.position",
                    is_known         ? word
                    : word == "yarn" ? "rope"
                                     : "learned");
    }
    take_dropout();
    take_attention();
  }

  void take_dropout() {
    const auto is_zero = [&](std::string_view name) {
      const auto text = draft_.text(name);
      const Parsed<double> rate = parse_number(text.value_or("0.1"));
      return rate && *rate == 0;
    };
    if (is_zero("@hidden_dropout") && is_zero("@attention_dropout")) {
      draft_.become("@hidden_dropout", "model.decoder.dropout", "false");
      draft_.become("@attention_dropout", "model.decoder.dropout", "false");
    } else if (is_zero("@hidden_dropout") != is_zero("@attention_dropout")) {
      draft_.warn("only one of the two dropouts is off; both have their kernels here");
    }
    draft_.ignore("@hidden_dropout");
    draft_.ignore("@attention_dropout");
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

  void choose_by_name() {
    std::string name;
    for (const char* const key : {"@model", "@class"}) {
      if (const auto text = draft_.text(key); text && name.empty()) name = *text;
    }
    if (const auto family = draft_.text("@model_family"); family && draft_.has("@flavor"))
      name = *family + " " + *draft_.text("@flavor");
    if (name.empty()) {
      draft_.warn("the job names no model that is known: add --model");
      return;
    }
    const std::filesystem::path file = folder_ / name / "config.json";
    std::string model = is_there(file) ? (std::filesystem::path(name) / "config.json").string()
                                       : model_named(catalogue_, name);
    if (model.empty()) {
      draft_.warn(
          fmt::format("no shipped model is {}: add --model, with its config.json of Hugging Face or a model "
                      "file",
                      in_quotes(name)));
      return;
    }
    for (const char* const key : {"@model", "@class", "@model_family", "@flavor"}) {
      if (draft_.has(key)) draft_.become(key, "model", model);
    }
    draft_.set("model", std::move(model));
  }

  [[nodiscard]] config::Document document_of(const std::string& model) const {
    return config::load(config::find(catalogue_, Kind::model, model));
  }

  [[nodiscard]] static std::string text_in(const config::Node* family, std::string_view key) {
    const config::Node* const value = family == nullptr ? nullptr : family->find(key);
    return value == nullptr ? std::string() : value->scalar;
  }

  void choose_by_sizes() {
    const Sizes wanted(
        [&](const char* key) { return draft_.text(std::string(sizes_in) + key).value_or(""); });
    const auto vocabulary = draft_.text("model.decoder.vocabulary");
    std::vector<std::string> same;
    for (const std::string& name : config::names(catalogue_, Kind::model)) {
      const config::Document document = document_of(name);
      const config::Node* const decoder = document.root.find("decoder");
      if (decoder == nullptr || name == by_sizes) continue;
      if (wanted != Sizes([&](const char* key) { return text_in(decoder, key); })) continue;
      if (!vocabulary || text_in(decoder, "vocabulary") == *vocabulary) same.push_back(name);
    }
    if (same.empty()) {
      take_sizes();
      return;
    }
    const std::string& model = same.front();
    if (same.size() > 1)
      draft_.assume("model", model, fmt::format("{} have these sizes", fmt::join(same, " and ")));
    else if (!vocabulary)
      draft_.assume("model", model, "it has these sizes; the job names no vocabulary");
    draft_.set("model", model);
  }

  /// The keys with the model's own values.
  void leave_out_what_it_has(const std::string& model) {
    const config::Document document = document_of(model);
    const config::Node* const decoder = document.root.find("decoder");
    for (const auto& [key, value] : draft_.values()) {
      if (!key.starts_with(sizes_in)) continue;
      if (text_in(decoder, std::string_view(key).substr(sizes_in.size())) == value)
        draft_.become(key, "model", model), draft_.drop(key);
    }
    for (const char* const key : {"kv_heads", "ffn", "head_dim"}) {  // the family's defaults
      const std::string whole = std::string(sizes_in) + key;
      if (draft_.has(whole) && text_in(decoder, key).empty())
        draft_.become(whole, "model", model), draft_.drop(whole);
    }
  }

  void take_sizes() {
    draft_.set("model", by_sizes);
    if (!draft_.has("model.decoder.vocabulary")) {
      const std::string tokenizer = small_letters(draft_.text("@tokenizer").value_or(""));
      if (contains(tokenizer, "gpt2") || tokenizer.empty())
        draft_.assume("model.decoder.vocabulary", "50257",
                      tokenizer.empty() ? "the job names no vocabulary; that of GPT-2" : "GPT-2's");
      else if (contains(tokenizer, "llama3") || contains(tokenizer, "tiktoken"))
        draft_.assume("model.decoder.vocabulary", "128256", "Llama 3's");
      else
        draft_.assume("model.decoder.vocabulary", "32000", "the job names no vocabulary; that of Llama 2");
    }
    if (tool_ == Tool::megatron ||
        tool_ == Tool::nemo) {  // arguments.py: a multiple of 128 for each tensor rank
      const long long multiple = draft_.number("@vocabulary_multiple").value_or(128) *
                                 draft_.number("parallelism.tensor").value_or(1);
      draft_.become("@vocabulary_multiple", "model.decoder.pad_vocabulary", std::to_string(multiple));
    }
    const auto positions = draft_.number("@positions");
    const auto tokens = draft_.number("model.decoder.sequence_length");
    const bool is_learned = draft_.text("model.decoder.position").value_or("learned") == "learned";
    if (is_learned && positions && tokens && *positions > *tokens)
      draft_.become("@positions", "model.decoder.positions", std::to_string(*positions));
  }

  /// Sizes stand below the family of the model; other families have few of them.
  void keep_keys_of_family() {
    const auto model = draft_.text("model");
    if (!model || config::is_path(*model)) return;
    const config::Document document = document_of(*model);
    const config::Node* const family = document.root.find("family");
    if (family == nullptr) return;
    if (family->scalar == "decoder") {
      if (*model != by_sizes) leave_out_what_it_has(*model);
      return;
    }
    for (const auto& [key, value] : draft_.values()) {
      if (!key.starts_with(sizes_in)) continue;
      const std::string_view rest = std::string_view(key).substr(sizes_in.size());
      if (rest == "sequence_length" || rest == "attention")
        draft_.become(key, fmt::format("model.{}.{}", family->scalar, rest), value);
      draft_.drop(key);
    }
  }

  static constexpr const char* by_sizes = "gpt_by_sizes";

  JobDraft& draft_;
  Tool tool_;
  const config::Catalogue& catalogue_;
  const std::filesystem::path& folder_;
};

}  // namespace

void complete_model(JobDraft& draft, Tool tool, const config::Catalogue& catalogue,
                    const std::filesystem::path& folder) {
  ModelChoice(draft, tool, catalogue, folder).complete();
}

}  // namespace trainyard::jobs
