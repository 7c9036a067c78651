#include "config/document.hpp"
#include "config/model_names.hpp"
#include "jobs/meaning.hpp"
#include "jobs/model_parts.hpp"
#include "jobs/model_sizes.hpp"
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

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

class ModelChoice {
public:
  ModelChoice(JobDraft& draft, Tool tool, const config::Catalogue& catalogue,
              const std::filesystem::path& folder)
      : draft_(draft), tool_(tool), catalogue_(catalogue), folder_(folder) {}

  void complete() {
    complete_model_parts(draft_, tool_);
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
  void choose_by_name() {
    std::string name;
    for (const char* const key : {"@model", "@class"}) {
      if (const auto text = draft_.text(key); text && name.empty()) name = *text;
    }
    if (const auto family = draft_.text("@model_family"); family && draft_.has("@flavor"))
      name = *family + " " + *draft_.text("@flavor");
    if (tool_ == Tool::llmc) name = llmc_model(name);
    if (name.empty()) {
      draft_.warn("the job names no model that is known: add --model");
      return;
    }
    const std::filesystem::path file = folder_ / name / "config.json";
    std::string model = is_there(file) ? (std::filesystem::path(name) / "config.json").string()
                                       : config::model_meant(catalogue_, name);
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

  /// "d12": a GPT-2 of so many blocks (train_gpt2.cu, gpt2_set_hyperparameters).
  static std::string llmc_model(const std::string& name) {
    constexpr std::array depths{Meaning{"d12", "gpt2_small"}, Meaning{"d24", "gpt2_medium"},
                                Meaning{"d36", "gpt2_large"}, Meaning{"d48", "gpt2_xl"}};
    return std::string(meaning_of(depths, name).value_or(name));
  }

  [[nodiscard]] config::Document document_of(const std::string& model) const {
    return config::load(config::find(catalogue_, Kind::model, model));
  }

  /// The shipped models with the job's sizes. `is_loose`: also those of another norm or other positions than
  /// the tool's defaults, if the job states none.
  [[nodiscard]] std::vector<std::string> models_of_sizes(bool is_loose) const {
    const bool has_structure = tool_ == Tool::megatron || tool_ == Tool::nemo || tool_ == Tool::nanotron;
    const auto stated = [&](std::string_view key) {
      return draft_.text(std::string(sizes_in).append(key)).value_or("");
    };
    const auto wanted = sizes_of(stated, has_structure);
    const std::string vocabulary = stated("vocabulary");
    std::vector<std::string> same;
    for (const std::string& name : config::names(catalogue_, Kind::model)) {
      const config::Document document = document_of(name);
      const config::Node* const decoder = document.root.find("decoder");
      if (decoder == nullptr || name == by_sizes) continue;
      const auto own = [&](std::string_view key) {
        const bool is_free = is_loose && (key == "norm" || key == "position") && stated(key).empty();
        return is_free ? std::string() : text_in(decoder, key);
      };
      if (wanted != sizes_of(own, has_structure)) continue;
      if (vocabulary.empty() || own("vocabulary") == vocabulary) same.push_back(name);
    }
    return same;
  }

  void choose_by_sizes() {
    std::vector<std::string> same = models_of_sizes(false);
    std::string unstated = draft_.has("model.decoder.vocabulary") ? "" : "vocabulary";
    if (same.empty()) {
      same = models_of_sizes(true);
      unstated = unstated.empty() ? "norm or positions" : "norm, positions or vocabulary";
    }
    if (same.empty()) {
      take_sizes();
      return;
    }
    const std::string& model = same.front();
    if (same.size() > 1)
      draft_.assume("model", model,
                    fmt::format("{} have these sizes, and the job does not state its {}",
                                fmt::join(same, " and "), unstated.empty() ? "name" : unstated));
    else if (!unstated.empty())
      draft_.assume("model", model,
                    fmt::format("it has these sizes; the job does not state its {}", unstated));
    draft_.set("model", model);
  }

  /// The keys with the model's own values.
  void leave_out_what_it_has(const std::string& model) {
    const config::Document document = document_of(model);
    const config::Node* const decoder = document.root.find("decoder");
    for (const auto& [key, value] : draft_.values()) {
      if (!key.starts_with(sizes_in)) continue;
      const std::string_view inner = std::string_view(key).substr(sizes_in.size());
      const std::string own = text_in(decoder, inner);
      if ((own.empty() ? default_of_decoder(inner) : own) == value)
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
