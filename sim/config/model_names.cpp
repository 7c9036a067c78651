#include "config/model_names.hpp"

#include "config/other_names.hpp"
#include "units/letters.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace trainyard::config {
namespace {

/// Parts of names that say nothing about the layers.
constexpr std::array<std::string_view, 32> decorations{
    "meta",  "lora",    "qlora",   "instruct", "chat", "hf",       "it",       "pt",
    "cased", "uncased", "v0.1",    "v0.2",     "v1.0", "dpo",      "sft",      "deduped",
    "bnb",   "4bit",    "unsloth", "coder",    "math", "4k",       "8k",       "32k",
    "128k",  "bf16",    "fp8",     "thinking", "text", "pretrain", "finetune", "original"};

/// Names of classes: Llama3Config8B, llm.Llama31ModelProvider70B.
constexpr std::array<std::string_view, 3> parts_of_classes{"modelprovider", "provider", "config"};

bool is_date(std::string_view word) {
  return word.size() == 4 && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The words of a name between '-' and '_', without decorations.
std::string without_decorations(std::string_view name, bool keeps_base) {
  std::string kept;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find_first_of("-_ "));
    name.remove_prefix(std::min(word.size() + 1, name.size()));
    const bool says_nothing = std::ranges::find(decorations, word) != decorations.end() || is_date(word) ||
                              (word == "base" && !keeps_base);
    if (!says_nothing) kept += (kept.empty() ? "" : "_") + std::string(word);
  }
  return kept;
}

}  // namespace

std::string model_meant(const Catalogue& catalogue, std::string_view name) {
  std::string word = small_letters(name.substr(name.find_last_of('/') + 1));
  const auto has = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  if (has(".models.") || has("modelprovider") || has("llm.")) word = word.substr(word.rfind('.') + 1);
  for (const std::string_view part : parts_of_classes) {
    if (const std::size_t at = word.find(part); at != std::string::npos) word.erase(at, part.size());
  }
  if (word == "gpt2") return "gpt2_small";
  std::string found = name_meant(catalogue, Kind::model, word);
  for (const bool keeps_base : {true, false}) {  // bert-base is no Qwen3-8B-Base
    if (found.empty()) found = name_meant(catalogue, Kind::model, without_decorations(word, keeps_base));
  }
  return found;
}

}  // namespace trainyard::config
