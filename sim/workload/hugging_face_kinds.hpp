#pragma once
// The kinds of models (model_type) of Hugging Face's configurations that can be read, one entry each.

#include <span>
#include <string_view>

namespace trainyard {

/// A kind of model. Texts list entries "key: value, key: value".
struct HuggingFaceKind {
  std::string_view model_type;
  std::string_view family;        ///< of ours
  std::string_view fixed;         ///< keys of the family that all models of this kind have
  std::string_view defaults;      ///< keys that a configuration may leave out, by their usual names
  std::string_view names = {};    ///< keys of this kind that others call differently: "n_embd: hidden_size"
  std::string_view ignored = {};  ///< keys of this kind without effect on a step, separated by blanks
};

std::span<const HuggingFaceKind> hugging_face_kinds();

/// Keys of any kind that have no effect on the time or the memory of a step, nor on parameters.
bool is_without_effect(std::string_view key);

}  // namespace trainyard
