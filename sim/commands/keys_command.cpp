#include "cli/experiment_keys.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"
#include "commands/word_search.hpp"
#include "config/diagnostic.hpp"
#include "config/glossary.hpp"
#include "config/suggest.hpp"
#include "document/json_text.hpp"
#include "experiment/experiment.hpp"
#include "units/letters.hpp"
#include "units/lines.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct KeysOptions {
  std::optional<std::string> pattern;
  bool json = false;
};

/// Whether a text has the parts between the stars of a pattern, in their order; capitals do not count.
bool matches(std::string_view text, std::string_view pattern) {
  while (!pattern.empty()) {
    const std::size_t star = std::min(pattern.find('*'), pattern.size());
    const std::string_view part = pattern.substr(0, star);
    const auto same = [](char a, char b) { return small_letter(a) == small_letter(b); };
    const auto found = std::search(text.begin(), text.end(), part.begin(), part.end(), same);
    if (found == text.end() && !part.empty()) return false;
    text.remove_prefix(static_cast<std::size_t>(found - text.begin()) + part.size());
    pattern.remove_prefix(std::min(star + 1, pattern.size()));
  }
  return true;
}

/// Whether another word that matches names this key, or one above it.
bool is_called_so(const config::ListedKey& key, std::string_view pattern) {
  const auto matches_pattern = [&](std::string_view word) { return has_word(word, pattern); };
  if (std::ranges::any_of(key.words, matches_pattern)) return true;
  return std::ranges::any_of(config::Keys<Experiment>::other_words, [&](const config::OtherWord& other) {
    const std::string_view named = other.key.substr(0, other.key.find_first_of("= "));
    if (!key.path.starts_with(named) || !has_word(other.word, pattern)) return false;
    const std::string_view rest = std::string_view(key.path).substr(named.size());
    return rest.empty() || rest.front() == '.' || rest.front() == '[';
  });
}

bool is_asked_for(const config::ListedKey& key, const std::optional<std::string>& pattern) {
  if (!pattern) return true;
  if (pattern->find('*') != std::string::npos) return matches(key.path, *pattern);
  return has_word(key.path, *pattern) || has_word(key.doc, *pattern) || is_called_so(key, *pattern);
}

std::string key_text(const config::ListedKey& key, std::size_t width) {
  std::string value = key.form;
  if (!key.default_value.empty()) value += fmt::format("; default: {}", key.default_value);
  if (key.is_required) value += "; required";
  std::string text = key.path + '\n' + hanging("    ", key.doc, width) + hanging("    ", value, width);
  std::vector<std::string_view> words = other_words_for(key.path);
  std::erase(words, std::string_view(key.path).substr(key.path.rfind('.') + 1));
  if (!words.empty()) text += hanging("    ", fmt::format("also called {}", fmt::join(words, ", ")), width);
  return text;
}

nlohmann::ordered_json key_json(const config::ListedKey& key) {
  nlohmann::ordered_json json{{"key", key.path}, {"value", key.form}};
  json["default"] = nullptr;
  if (!key.default_value.empty()) json["default"] = key.default_value;
  json["required"] = key.is_required;
  json["effect"] = key.doc;
  json["other_words"] = other_words_for(key.path);
  return json;
}

/// The words of the glossary that are no keys, and what is meant by them.
nlohmann::ordered_json advice_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const config::OtherWord& other : config::glossary) {
    if (!other.is_same) all.push_back({{"word", other.word}, {"meant", other.key}});
  }
  return all;
}

[[noreturn]] void none_found(const std::string& pattern) {
  std::vector<std::string> paths;
  for (const KeyGroup& group : key_groups()) {
    for (const config::ListedKey& key : keys_of(group)) paths.push_back(key.path);
  }
  std::string hint = config::did_you_mean(pattern, paths);
  if (hint.empty()) hint = "'trainyard keys' prints all keys; * stands for any text";
  throw InputError(fmt::format("no key name or description contains '{}'", pattern), hint);
}

void print_keys(const KeysOptions& options) {
  const std::size_t width = print_style().width;
  std::string text;
  nlohmann::ordered_json keys = nlohmann::ordered_json::array();
  const auto add = [&](std::string_view title, const std::vector<config::ListedKey>& listed) {
    std::string of_group;
    for (const config::ListedKey& key : listed) {
      if (!is_asked_for(key, options.pattern)) continue;
      if (options.json)
        keys.push_back(key_json(key));
      else
        of_group += key_text(key, width);
    }
    if (!of_group.empty())
      text += fmt::format("{}keys of {}\n\n{}", text.empty() ? "" : "\n", title, of_group);
  };
  for (const KeyGroup& group : key_groups()) add(group.title, keys_of(group));
  if (text.empty() && keys.empty()) none_found(options.pattern.value_or(""));
  if (!options.json) return print_result(text);
  nlohmann::ordered_json json{{"trainyard_version", version()}, {"keys", std::move(keys)}};
  if (!options.pattern) json["words_with_advice"] = advice_json();
  print_result(json_text(json));
}

}  // namespace

void add_keys(CLI::App& program) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App& command = *program.add_subcommand(
      "keys", "print the keys that --set takes, each with its unit, default and effect");
  command.add_option(
      "PATTERN", options->pattern,
      "only keys with this word in their name, effect, values or other names (tp, fsdp, straggler); with * "
      "(any text) only names are searched");
  command.add_flag("--json", options->json, "print JSON: trainyard_version, and the list keys");
  add_examples(command, {"trainyard keys nic", "trainyard keys fsdp", "trainyard keys \"stack.*bucket*\"",
                         "trainyard keys sync. --json"});
  command.callback([options] { print_keys(*options); });
}

}  // namespace trainyard
