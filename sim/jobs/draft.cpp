#include "jobs/draft.hpp"

#include "jobs/setting_value.hpp"
#include "jobs/words.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace trainyard::jobs {
namespace {

/// Names whose settings may differ: degrees of one axis multiply, other settings complete each other.
bool may_differ(std::string_view key, const Setting& one, const Setting& other) {
  constexpr std::array<std::string_view, 9> names{"@offload",      "@fsdp_strategy",     "@fsdp_words",
                                                  "@fsdp_version", "@distributed",       "@tokenizer",
                                                  "@model_path",   "@attention_backend", "@tokenizer_model"};
  return (key.ends_with("_degree") && one.key != other.key) || std::ranges::find(names, key) != names.end();
}

std::string place_beside(const Setting& one, const Setting& other) {
  const std::string line = fmt::format("line {}", one.line);
  if (one.file == other.file) return line;
  return fmt::format("{} of {}", line, one.file.substr(one.file.find_last_of('/') + 1));
}

}  // namespace

void JobDraft::add(const Setting& setting, const KeyRule* rule, bool is_weaker) {
  Entry entry{{setting, rule == nullptr ? Fate::unknown : rule->fate}, {}};
  if (rule != nullptr && rule->fate == Fate::not_modelled) {
    if (is_neutral(setting, *rule))
      entry.account.fate = Fate::no_effect;
    else
      entry.account.text = rule->text;
  }
  if (rule != nullptr && rule->fate == Fate::taken) take(entry, *rule, is_weaker);
  entries_.push_back(std::move(entry));
}

void JobDraft::take(Entry& entry, const KeyRule& rule, bool is_weaker) {
  Account& account = entry.account;
  const Setting& setting = account.setting;
  // transformers and axolotl take bfloat16 where the GPU has it, DeepSpeed where its caller does
  if (rule.value == "bf16" && small_letters(setting.value) == "auto") {
    entry.key = fmt::format("@auto_{}", rule.text.substr(1));
    set(entry.key, entry.value = "bf16");
    return;
  }
  TakenValue taken = taken_value(setting, rule);
  if (taken.kind == TakenValue::Kind::nothing) {
    account.fate = Fate::no_effect;
  } else if (taken.kind == TakenValue::Kind::elsewhere) {
    account.text = "takes its value from outside the file";
    constexpr std::array<std::string_view, 5> of_launchers{"nodes", "gpus", "gpus_per_node", "@tokenizer",
                                                           "@tokenizer_model"};
    const bool is_of_launcher = std::ranges::find(of_launchers, rule.text) != of_launchers.end();
    account.fate = is_of_launcher ? Fate::no_effect : Fate::unknown;
  } else if (taken.kind == TakenValue::Kind::wrong) {
    mistakes_.push_back({setting, taken.remark});
  } else {
    if (!taken.gpu.empty()) set("@gpu_name", taken.gpu);
    if (!taken.remark.empty())
      warn(fmt::format("{}:{}: {}: {}", setting.file.substr(setting.file.find_last_of('/') + 1), setting.line,
                       in_quotes(setting.key), taken.remark));
    if (yields_to_earlier(entry, rule.text, taken.value, is_weaker)) return;
    entry.key = rule.text;
    entry.value = taken.value;
    set(rule.text, std::move(taken.value));
  }
}

bool JobDraft::yields_to_earlier(Entry& entry, std::string_view key, const std::string& value,
                                 bool is_weaker) {
  const auto before = std::find_if(entries_.rbegin(), entries_.rend(),
                                   [&](const Entry& earlier) { return earlier.key == key; });
  if (before == entries_.rend()) return false;
  Entry& earlier = *before;
  const Setting& now = entry.account.setting;
  if (small_letters(earlier.value) == small_letters(value)) return false;
  if (may_differ(key, earlier.account.setting, now)) return false;
  const auto lose = [](Entry& loser, const Setting& winner) {
    const Setting& setting = loser.account.setting;
    loser.account.fate = Fate::unknown;
    loser.account.text = fmt::format("is {}, but {} says {}, which counts", in_quotes(setting.value),
                                     place_beside(winner, setting), in_quotes(winner.value));
    if (winner.is_switch || setting.is_switch)
      loser.account.text = fmt::format("contradicts {} in {}, which counts", in_quotes(winner.key),
                                       place_beside(winner, setting));
    loser.key.clear();
  };
  if (is_weaker)
    lose(entry, earlier.account.setting);
  else
    lose(earlier, now);
  return is_weaker;
}

const Setting* JobDraft::setting_of(std::string_view key) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    std::vector<std::string> keys;
    if (!entry->key.empty()) add_keys(entry->key, keys);
    if (std::ranges::find(keys, key) != keys.end()) return &entry->account.setting;
  }
  return nullptr;
}

std::optional<std::string> JobDraft::text(std::string_view key) const {
  const auto found = std::ranges::find(values_, key, &std::pair<std::string, std::string>::first);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::optional<long long> JobDraft::number(std::string_view key) const {
  const std::optional<std::string> value = text(key);
  if (!value) return std::nullopt;
  const Parsed<long long> whole = parse_integer(*value);
  return whole ? std::optional(*whole) : std::nullopt;
}

std::vector<std::string> JobDraft::all(std::string_view key) const {
  std::vector<std::string> values;
  for (const Entry& entry : entries_) {
    if (entry.key == key) values.push_back(entry.account.setting.value);
  }
  return values;
}

bool JobDraft::knows(std::string_view tool_key) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    const std::string_view key = entry.account.setting.key;
    return key == tool_key || (key.ends_with(tool_key) && key[key.size() - tool_key.size() - 1] == '.');
  });
}

void JobDraft::become(std::string_view from, std::string_view key, std::string value) {
  set(key, std::move(value));
  became_[std::string(from)].emplace_back(key);
}

void JobDraft::set(std::string_view key, std::string value) {
  const auto found = std::ranges::find(values_, key, &std::pair<std::string, std::string>::first);
  if (found == values_.end())
    values_.emplace_back(key, std::move(value));
  else
    found->second = std::move(value);
}

void JobDraft::assume(std::string_view key, std::string value, std::string reason) {
  if (!has(key)) replace(key, std::move(value), std::move(reason));
}

void JobDraft::replace(std::string_view key, std::string value, std::string reason) {
  std::erase_if(assumptions_, [&](const Assumption& earlier) { return earlier.key == key; });
  assumptions_.push_back({std::string(key), value, std::move(reason)});
  set(key, std::move(value));
}

void JobDraft::assume_setting(std::string_view key, std::string_view shown, std::string value,
                              std::string reason) {
  if (has(key)) return;
  assumptions_.push_back({std::string(shown), value, std::move(reason)});
  set(key, std::move(value));
}

void JobDraft::assume_from(std::string_view from, std::string_view key, std::string value,
                           std::string reason) {
  assumptions_.push_back({std::string(key), value, std::move(reason)});
  become(from, key, std::move(value));
}

void JobDraft::unknown(std::string_view key, std::string why) {
  for_key(key, [&](Entry& entry) { entry = {{entry.account.setting, Fate::unknown, why}, {}}; });
  drop(key);
}

Mistake JobDraft::mistake_at(std::string_view key, std::string message) {
  Mistake mistake{{}, std::move(message)};
  for_key(key, [&](Entry& entry) { mistake.setting = entry.account.setting; });
  return mistake;
}

void JobDraft::fail(std::string_view key, std::string message) {
  mistakes_.push_back(mistake_at(key, std::move(message)));
}

void JobDraft::contradict(std::string_view key, std::string message) {
  contradictions_.push_back(mistake_at(key, std::move(message)));
}

void JobDraft::for_key(std::string_view key, const std::function<void(Entry&)>& change) {
  for (Entry& entry : entries_) {
    if (entry.key == key) change(entry);
  }
}

void JobDraft::differ(std::string_view key, std::string how) {
  for_key(key, [&](Entry& entry) { entry = {{entry.account.setting, Fate::not_modelled, how}, {}}; });
  became_.erase(std::string(key));
  drop(key);
}

void JobDraft::ignore(std::string_view key) {
  if (became_.contains(key)) return;
  for_key(key, [](Entry& entry) { entry = {{entry.account.setting, Fate::no_effect}, {}}; });
  drop(key);
}

void JobDraft::drop(std::string_view key) {
  std::erase_if(values_, [&](const auto& value) { return value.first == key; });
}

std::vector<std::pair<std::string, std::string>> JobDraft::values() const {
  std::vector<std::pair<std::string, std::string>> values = values_;
  std::erase_if(values, [](const auto& value) { return value.first.starts_with('@'); });
  return values;
}

void JobDraft::add_keys(std::string_view key, std::vector<std::string>& keys) const {
  const bool is_of_experiment = !key.starts_with('@') && has(key);
  if (is_of_experiment && std::ranges::find(keys, key) == keys.end()) keys.emplace_back(key);
  const auto found = became_.find(key);
  if (is_of_experiment || found == became_.end()) return;
  for (const std::string& next : found->second) {
    if (next != key) add_keys(next, keys);
  }
}

std::vector<Account> JobDraft::account() const {
  std::vector<Account> account;
  for (const Entry& entry : entries_) {
    account.push_back(entry.account);
    std::vector<std::string> keys;
    if (!entry.key.empty()) add_keys(entry.key, keys);
    for (const std::string& key : keys) {
      const std::string value = *text(key);
      if (key.starts_with("parallelism.") && (value == "1" || value == "none")) continue;  // as without it
      account.back().text += fmt::format("{}{}={}", account.back().text.empty() ? "" : ", ", key, value);
    }
    if (entry.account.fate == Fate::taken && account.back().text.empty())
      account.back().fate = Fate::no_effect;
  }
  return account;
}

}  // namespace trainyard::jobs
