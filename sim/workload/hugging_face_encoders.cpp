// The meaning of keys of encoders, and of T5. Sources: see hugging_face_kinds.cpp.
#include "workload/hugging_face_config.hpp"

#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace trainyard {
namespace {

/// The task in the name of the model's class ("BertForMaskedLM"): "MaskedLM". Empty for the encoder alone.
std::string_view task_of(HuggingFaceConfig& config) {
  constexpr std::string_view before_task = "For";
  const config::Node* const classes = config.find("architectures");
  if (classes == nullptr || classes->items.empty()) return {};
  const std::string_view name = classes->items.front().scalar;
  const std::size_t place = name.find(before_task);
  return place == std::string_view::npos ? std::string_view() : name.substr(place + before_task.size());
}

/// RoBERTa and DistilBERT have masked words without a class, BERT its pre-training.
void convert_head(HuggingFaceConfig& config) {
  const std::string_view task = task_of(config);
  if (task == "QuestionAnswering") {
    config.put("head", std::string("question_answering"), "architectures");
  } else if (task == "MaskedLM") {
    config.put("head", std::string("masked_words"), "architectures");
  } else if (!task.empty() && task != "PreTraining") {
    config.warn("architectures",
                fmt::format("the head for {} is not known: that of pre-training is counted", task),
                "parameters are up to 3 % larger than the model's, steps a few percent longer");
  }
}

}  // namespace

void convert_bert(HuggingFaceConfig& config, std::string_view model_type) {
  constexpr std::array copies{
      KeyCopy{"vocab_size", "vocabulary"},          KeyCopy{"hidden_size", "hidden"},
      KeyCopy{"num_hidden_layers", "layers"},       KeyCopy{"num_attention_heads", "heads"},
      KeyCopy{"intermediate_size", "intermediate"}, KeyCopy{"max_position_embeddings", "positions"},
      KeyCopy{"type_vocab_size", "segments"}};
  for (const KeyCopy& copy : copies) config.copy(copy.from, copy.key);
  convert_head(config);
  const bool counts_from_padding = model_type == "roberta" || model_type == "xlm-roberta";
  const int positions = config.whole("max_position_embeddings").value_or(0);
  config.put("sequence_length", positions - (counts_from_padding && positions > 2 ? 2 : 0),
             "max_position_embeddings");
  if (activation_named(config, "hidden_act") != "gelu")
    config.warn("hidden_act", "the activation is counted as gelu", "a little of a step's time");
  if (config.has("position_embedding_type") && config.text("position_embedding_type") != "absolute")
    config.warn("position_embedding_type", "positions have one table, not one by distance in each block",
                "parameters and steps are larger");
  if (config.number("hidden_dropout_prob").value_or(1) == 0)
    config.warn("hidden_dropout_prob", "dropout layers are counted", "steps are a little shorter");
  put_attention(config);
}

void convert_encoder_decoder(HuggingFaceConfig& config) {
  constexpr std::array copies{
      KeyCopy{"vocab_size", "vocabulary"},     KeyCopy{"hidden_size", "hidden"},
      KeyCopy{"num_hidden_layers", "layers"},  KeyCopy{"num_decoder_layers", "decoder_layers"},
      KeyCopy{"num_attention_heads", "heads"}, KeyCopy{"head_dim", "head_dim"},
      KeyCopy{"intermediate_size", "ffn"},     KeyCopy{"position_buckets", "position_buckets"},
      KeyCopy{"tie_word_embeddings", "tied"}};
  for (const KeyCopy& copy : copies) config.copy(copy.from, copy.key);
  const std::string feed_forward = config.text("feed_forward_proj");
  config.put_flag("gated", feed_forward.starts_with("gated-"), "feed_forward_proj");
  if (feed_forward != "relu" && feed_forward != "gated-gelu")
    config.warn("feed_forward_proj", "the feed-forward half is counted with relu, or gelu if gated",
                "a little of a step's time");
  config.put_flag("dropout", config.number("dropout_rate").value_or(0) > 0, "dropout_rate");
  constexpr int tokens = 512;  // of T5's pre-training (arXiv 1910.10683, section 3.1.2)
  config.put("sequence_length", tokens, "model_type");
}

}  // namespace trainyard
