#include "config/document.hpp"
#include "config/model_names.hpp"
#include "jobs/meaning.hpp"
#include "jobs/model_parts.hpp"
#include "jobs/model_words.hpp"
#include "jobs/same_model.hpp"
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
    if (is_other_program()) {
      leave_out_sizes();
      return;
    }
    complete_model_words(draft_, tool_);
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
  /// Programs of Megatron-LM for models that are no GPT: their sizes say less than all layers.
  [[nodiscard]] bool is_other_program() const {
    constexpr std::array<std::string_view, 9> kinds{"bert", "t5",    "ict",    "retro", "vision",
                                                    "vlm",  "mamba", "hybrid", "dino"};
    const std::string program = draft_.text("@program").value_or("");
    return tool_ == Tool::megatron &&
           std::ranges::any_of(kinds, [&](std::string_view kind) { return contains(program, kind); });
  }

  void leave_out_sizes() {
    for (const auto& [key, value] : draft_.values())
      if (key.starts_with(sizes_in)) draft_.ignore(key);
    draft_.warn(fmt::format("{} trains no GPT: add --model", *draft_.text("@program")));
  }

  void choose_by_name() {
    std::string name;
    for (const char* const key : {"@model", "@class"}) {
      if (const auto text = draft_.text(key); text && name.empty()) name = *text;
    }
    if (const auto family = draft_.text("@model_family"); family && draft_.has("@flavor"))
      name = *family + " " + *draft_.text("@flavor");
    if (tool_ == Tool::llmc) name = llmc_model(name);
    if (name.empty() && tool_ == Tool::nemo) {
      assume_model_of_program();
      if (draft_.has("model")) return;
    }
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

  /// "pretrain_llama3_8b.py": Megatron-Bridge has a program for each model.
  void assume_model_of_program() {
    const std::string program = draft_.text("@program").value_or("");
    const std::string name = std::filesystem::path(program).stem().string();
    std::string model = config::model_meant(catalogue_, name.substr(name.find('_') + 1));
    if (!model.empty())
      draft_.assume("model", std::move(model), fmt::format("the program is called {}", program));
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

  /// In Megatron-LM and NeMo the vocabulary is padded to a multiple for each tensor rank (arguments.py: 128).
  [[nodiscard]] long long vocabulary_multiple() const {
    if (tool_ != Tool::megatron && tool_ != Tool::nemo) return 1;
    return draft_.number("@vocabulary_multiple").value_or(128) *
           draft_.number("parallelism.tensor").value_or(1);
  }

  /// The vocabulary that the job states, or that its tokenizer has; empty if neither is known.
  [[nodiscard]] std::string vocabulary() const {
    if (const auto text = draft_.text("model.decoder.vocabulary")) return *text;
    for (const char* const name : {"@tokenizer_model", "@tokenizer"})
      if (std::string size = vocabulary_of(draft_.text(name).value_or("")); !size.empty()) return size;
    return {};
  }

  [[nodiscard]] std::string vocabulary_of_model(const std::string& model) const {
    return value_or_default(decoder_of(document_of(model)), "vocabulary");
  }

  void choose_by_sizes() {
    const std::string wanted = vocabulary();
    const long long multiple = vocabulary_multiple();
    std::vector<std::string> same = same_models(catalogue_, decoder_of(draft_));
    std::erase_if(same, [&](const std::string& name) {
      return name == by_sizes ||
             (!wanted.empty() && padded(vocabulary_of_model(name), multiple) != padded(wanted, multiple));
    });
    const bool is_one_vocabulary = std::ranges::all_of(same, [&](const std::string& name) {
      return vocabulary_of_model(name) == vocabulary_of_model(same.front());
    });
    if (same.empty() || !is_one_vocabulary) {
      if (!same.empty())
        draft_.warn(fmt::format("{} have these layers and different vocabularies: add --model",
                                fmt::join(same, " and ")));
      take_sizes();
      return;
    }
    const std::string& model = same.front();
    if (wanted.empty())
      draft_.assume("model", model, "it has these layers; the job names no vocabulary");
    else if (same.size() > 1)
      draft_.assume("model", model, fmt::format("{} have the same layers", fmt::join(same, " and ")));
    draft_.set("model", model);
    pad_vocabulary(vocabulary_of_model(model));
  }

  /// With tensor parallelism the simulator pads to 128 x tensor by itself.
  void pad_vocabulary(const std::string& size) {
    const long long multiple = vocabulary_multiple();
    const long long tensor = draft_.number("parallelism.tensor").value_or(1);
    const bool pads_by_itself = tensor > 1 && multiple == 128 * tensor;
    if (multiple > 1 && !pads_by_itself && padded(size, multiple) != padded(size, 1))
      draft_.become("@vocabulary_multiple", "model.decoder.pad_vocabulary", std::to_string(multiple));
  }

  /// The keys with the model's own values.
  void leave_out_what_it_has(const std::string& model) {
    const DecoderValues decoder = decoder_of(document_of(model));
    for (const auto& [key, value] : draft_.values()) {
      if (!key.starts_with(sizes_in)) continue;
      const std::string_view rest = std::string_view(key).substr(sizes_in.size());
      if (value_or_default(decoder, rest) != value) continue;
      if (rest != "attention") draft_.become(key, "model", model);  // its name says nothing about kernels
      draft_.drop(key);
    }
  }

  void take_sizes() {
    draft_.set("model", by_sizes);
    if (!draft_.has("model.decoder.vocabulary")) {
      const std::string known = vocabulary();
      const bool has_tokenizer = draft_.has("@tokenizer") || draft_.has("@tokenizer_model");
      draft_.assume("model.decoder.vocabulary",
                    !known.empty()  ? known
                    : has_tokenizer ? "32000"
                                    : "50257",
                    !known.empty()  ? "the tokenizer's"
                    : has_tokenizer ? "the size of the tokenizer is not known; that of Llama 2's"
                                    : "the job names no vocabulary; that of GPT-2");
    }
    pad_vocabulary(*draft_.text("model.decoder.vocabulary"));
    const auto positions = draft_.number("@positions");
    const auto tokens = draft_.number("sequence_length");
    const bool is_learned = draft_.text("model.decoder.position").value_or("learned") == "learned";
    if (is_learned && positions && tokens && *positions > *tokens)
      draft_.become("@positions", "model.decoder.positions", std::to_string(*positions));
  }

  static std::string text_of(const config::Document& model, std::string_view family, std::string_view key) {
    const config::Node* const values = model.root.find(family);
    const config::Node* const value = values == nullptr ? nullptr : values->find(key);
    return value == nullptr ? std::string() : value->scalar;
  }

  /// A tool's default length gives way to that of a model with fewer positions.
  void shorten_default_length(const config::Document& model, std::string_view family) {
    const std::optional<std::string> tokens = draft_.text("sequence_length");
    if (!tokens || draft_.setting_of("sequence_length") != nullptr) return;
    const std::string own = text_of(model, family, "sequence_length");
    if (!own.empty() && padded(own, 1) < padded(*tokens, 1))
      draft_.replace("sequence_length", own, "the model has no more positions");
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
      if (rest == "attention") draft_.become(key, fmt::format("model.{}.{}", family->scalar, rest), value);
      draft_.drop(key);
    }
    constexpr std::array of_sequences{"gpt2", "bert", "encoder_decoder"};
    if (std::ranges::find(of_sequences, family->scalar) == of_sequences.end()) draft_.drop("sequence_length");
    shorten_default_length(document, family->scalar);
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
