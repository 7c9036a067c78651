#include "jobs/draft.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace trainyard::jobs {
namespace {

/// Keys that a job states for one layer of software alone and that its launcher repeats.
constexpr std::array<std::string_view, 3> counts{"nodes", "gpus", "gpus_per_node"};

/// Left to the software. A degree of -1 is the number of GPUs that remain.
bool is_unstated(std::string_view value, std::string_view key) {
  return value == "auto" || value == "gpu" || (value == "-1" && !key.ends_with("_degree"));
}

/// "gpu:h100:8" and "h100:8" are 8; a list of devices is their number.
std::string count_in(std::string value) {
  if (value.starts_with('[')) return std::to_string(std::ranges::count(value, ',') + (value == "[]" ? 0 : 1));
  const std::size_t colon = value.rfind(':');
  return colon == std::string::npos ? value : value.substr(colon + 1);
}

bool is_of_environment(std::string_view value) {
  return value.find('$') != std::string_view::npos || value.find('`') != std::string_view::npos ||
         value.starts_with("???");
}

}  // namespace

void JobDraft::add(const Setting& setting, const KeyRule* rule) {
  Entry entry{{setting, rule == nullptr ? Fate::unknown : rule->fate}, {}};
  if (rule == nullptr) {
    entries_.push_back(std::move(entry));
    return;
  }
  Account& account = entry.account;
  if (rule->fate == Fate::not_modelled) {
    account.text = rule->text;
    if (is_off(setting)) account = {setting, Fate::no_effect};
  } else if (rule->fate == Fate::taken) {
    std::string value = rule->value.empty() ? setting.value : std::string(rule->value);
    const bool is_count = std::ranges::find(counts, rule->text) != counts.end();
    if (is_count) value = count_in(std::move(value));
    if (value == "True" || value == "False") value = value == "True" ? "true" : "false";
    const bool is_switch = setting.is_switch || !rule->value.empty();
    const bool says_nothing = rule->value.empty() ? is_unstated(value, rule->text) || value == "null" ||
                                                        value == "None" || (value.empty() && !is_switch)
                                                  : is_off(setting) || setting.value == "auto";
    const bool is_placeholder = is_count && !says_nothing && !parse_integer(value);  // "YOUR_NODES"
    if ((is_of_environment(value) || is_placeholder) && rule->value.empty()) {
      account.text = "its value is not in the file";
      const bool is_of_launcher = is_count || rule->text.starts_with("@tokenizer");
      account.fate = is_of_launcher ? Fate::no_effect : Fate::unknown;
    } else if (says_nothing) {
      account.fate = Fate::no_effect;
    } else {
      if (value.empty()) value = "true";
      entry.key = rule->text;
      set(rule->text, std::move(value));
    }
  }
  entries_.push_back(std::move(entry));
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

void JobDraft::for_key(std::string_view key, const std::function<void(Entry&)>& change) {
  for (Entry& entry : entries_) {
    if (entry.key == key) change(entry);
  }
}

void JobDraft::differ(std::string_view key, std::string how) {
  for_key(key, [&](Entry& entry) { entry = {{entry.account.setting, Fate::not_modelled, how}, {}}; });
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
    for (const std::string& key : keys)
      account.back().text += fmt::format("{}{}={}", account.back().text.empty() ? "" : ", ", key, *text(key));
  }
  return account;
}

}  // namespace trainyard::jobs
