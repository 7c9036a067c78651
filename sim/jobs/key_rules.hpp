#pragma once
// The meaning of other tools' keys. Each tool has a table; a key that no table has is named in a warning.

#include <span>
#include <string_view>

namespace trainyard::jobs {

enum class Fate {
  taken,         ///< becomes part of the experiment
  no_effect,     ///< a step takes as long and needs as much memory
  not_modelled,  ///< a step differs in a known direction
  unknown
};

/// One key of a tool.
struct KeyRule {
  /// As in Setting::key, or its last parts: "optim.name" is also "model.optim.name". A '*' at the end stands
  /// for any further characters. Rules without it go first, then those with most parts.
  std::string_view key;
  Fate fate = Fate::no_effect;
  /// Taken: the experiment's key, or '@' and a name for draft.hpp. Not modelled: how a real step differs.
  std::string_view text = {};
  /// Taken: the value of a switch that is on; empty: the value as written. Not modelled: the value with which
  /// a step does not differ, "on" for a switch; empty: an off one.
  std::string_view value = {};
};

constexpr KeyRule taken(std::string_view key, std::string_view ours) { return {key, Fate::taken, ours}; }
constexpr KeyRule on(std::string_view key, std::string_view ours, std::string_view value = "true") {
  return {key, Fate::taken, ours, value};
}
constexpr KeyRule no_effect(std::string_view key) { return {key}; }
constexpr KeyRule differs(std::string_view key, std::string_view how) {
  return {key, Fate::not_modelled, how};
}
constexpr KeyRule differs_unless(std::string_view key, std::string_view neutral, std::string_view how) {
  return {key, Fate::not_modelled, how, neutral};
}

// The directions in which a real step differs.
inline constexpr std::string_view shorter = "a real step is shorter";
inline constexpr std::string_view longer = "a real step is longer";
inline constexpr std::string_view less_memory = "a real step needs less memory";
inline constexpr std::string_view shorter_and_less_memory = "a real step is shorter and needs less memory";
inline constexpr std::string_view longer_and_more_memory = "a real step is longer and needs more memory";
inline constexpr std::string_view longer_and_less_memory = "a real step is longer and needs less memory";

/// torchrun, srun, mpirun, the options of accelerate launch and of deepspeed.
std::span<const KeyRule> launcher_keys();
/// Megatron-LM's arguments, and the keys of NeMo and Megatron-Bridge, which are named like them.
std::span<const KeyRule> megatron_keys();
std::span<const KeyRule> torchtitan_keys();
std::span<const KeyRule> deepspeed_keys();
/// Hugging Face's TrainingArguments, and the tools on top of it: LLaMA-Factory, axolotl, TRL.
std::span<const KeyRule> trainer_keys();
std::span<const KeyRule> accelerate_keys();
std::span<const KeyRule> torchtune_keys();
std::span<const KeyRule> maxtext_keys();
std::span<const KeyRule> nanotron_keys();
/// Options of train_gpt2cu, in the section "llmc".
std::span<const KeyRule> llmc_keys();

/// The rule of a table for a key; null if it has none.
const KeyRule* rule_for(std::span<const KeyRule> rules, std::string_view key);

}  // namespace trainyard::jobs
