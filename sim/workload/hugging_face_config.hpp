#pragma once
// The keys of a configuration of Hugging Face by their usual names, and the model file that grows from them.
// hugging_face_decoder.cpp, hugging_face_encoders.cpp and hugging_face_images.cpp say which key becomes
// which.

#include "config/document.hpp"
#include "workload/hugging_face_kinds.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A key of ours that has the value of one of theirs.
struct KeyCopy {
  std::string_view from, key;
};

class HuggingFaceConfig {
public:
  /// `keys`: the mapping of the document that describes the model.
  HuggingFaceConfig(const config::Document& document, const config::Node& keys, const HuggingFaceKind& kind);

  /// The value of a key; nullptr if it is null, or neither given nor of the kind's defaults. It counts as
  /// understood.
  const config::Node* find(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) { return find(key) != nullptr; }
  /// As find(), of a type; empty if there is none or it has another type, which is an error.
  std::optional<int> whole(std::string_view key);
  std::optional<double> number(std::string_view key);
  /// As above of a list; a default has blanks between its numbers.
  std::vector<int> wholes(std::string_view key);
  /// False where there is none.
  bool flag(std::string_view key);
  std::string text(std::string_view key);

  /// Sets a key of our family ("latent_attention.query_rank") to a value that comes from a key of theirs.
  void put(std::string_view key, std::string value, std::string_view from);
  void put(std::string_view key, int value, std::string_view from) { put(key, std::to_string(value), from); }
  void put_flag(std::string_view key, bool value, std::string_view from) {
    put(key, std::string(value ? "true" : "false"), from);
  }
  void put(std::string_view key, const std::vector<int>& values, std::string_view from);
  /// Sets our key to the value of theirs, if it has one.
  void copy(std::string_view from, std::string_view key);

  /// `effect`: of what is left out on the steps that are predicted.
  void warn(std::string_view key, std::string message, std::string effect);
  /// As above for a value that is assumed, and that `--set` of our key replaces.
  void assume(std::string_view ours, std::string_view key, std::string message, std::string hint);
  void error(std::string_view key, std::string message, std::string hint = {});

  /// The keys that nothing has asked for become warnings. Throws InputError if there was an error.
  std::vector<Diagnostic> finish();
  /// The mapping of our family.
  config::Node take_family() { return std::move(family_); }
  [[nodiscard]] const config::Node& family() const { return family_; }

private:
  struct Setting {
    std::string key;  ///< as written
    config::Mark mark;
    config::Node value;
    bool is_given = false;
    bool is_used = false;
  };

  [[nodiscard]] Diagnostic diagnostic(std::string_view key, std::string message, std::string hint) const;
  [[nodiscard]] config::Mark mark_of(std::string_view key) const;

  const config::Document& document_;
  std::map<std::string, Setting, std::less<>> settings_;
  config::Mark mark_;  ///< of the kind
  config::Node family_ = config::make_node(config::Node::Kind::mapping);
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
};

// The meaning of the keys of a kind, by family.
void convert_decoder(HuggingFaceConfig& config, std::string_view model_type);
void convert_bert(HuggingFaceConfig& config, std::string_view model_type);
void convert_encoder_decoder(HuggingFaceConfig& config);
void convert_vit(HuggingFaceConfig& config);
void convert_swin(HuggingFaceConfig& config);
void convert_stages(HuggingFaceConfig& config, std::string_view model_type);
void convert_resnet(HuggingFaceConfig& config);
void convert_diffusion_unet(HuggingFaceConfig& config);

/// Sets sequence_length to the longest sequence, at most 4096 tokens, and says if that is assumed.
void put_sequence_length(HuggingFaceConfig& config, std::string_view family);

/// Sets the kernels of attention: unfused if the configuration asks for "eager", otherwise flash, as
/// transformers takes without a word.
void put_attention(HuggingFaceConfig& config);

/// Warns of keys of any kind that ask for work or parameters that are not simulated.
void warn_of_further_parts(HuggingFaceConfig& config);

/// The name of an activation as ours: gelu, relu or silu. Others are counted as gelu, with a warning.
std::string activation_named(HuggingFaceConfig& config, std::string_view key);

}  // namespace trainyard
