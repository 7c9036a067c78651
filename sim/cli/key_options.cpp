#include "cli/key_options.hpp"

#include "config/glossary.hpp"
#include "config/read.hpp"
#include "config/suggest.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/known_keys.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

constexpr std::string_view dashes = "--";

bool has_settings(const CLI::App& command) { return command.get_option_no_throw("--set") != nullptr; }

std::string word_of(std::string_view option) {
  std::string word(option.substr(dashes.size()));
  std::ranges::replace(word, '-', '_');
  return word;
}

/// The key that an option names; empty if it names none.
std::string key_of(std::string_view option) {
  std::string key = key_meant(word_of(option));
  return unknown_experiment_key(key).message.empty() ? key : std::string();
}

std::string as_option(std::string_view word) {
  std::string option = fmt::format("{}{}", dashes, word);
  std::ranges::replace(option, '_', '-');
  return option;
}

bool is_option(std::string_view word) { return word.size() > dashes.size() && word.starts_with(dashes); }

}  // namespace

std::vector<std::string> with_settings(CLI::App& program, const std::vector<std::string>& words) {
  CLI::App* command = &program;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == dashes) {
      all.insert(all.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    all.push_back(word);
    if (!is_option(word)) {
      const auto below = command->get_subcommands([&](CLI::App* each) { return each->get_name() == word; });
      if (!below.empty()) command = below.front();
      continue;
    }
    const std::size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    if (!has_settings(*command) || command->get_option_no_throw(name) != nullptr) continue;
    const bool has_next = i + 1 < words.size() && !is_option(words[i + 1]);
    if (key_of(name).empty() || (sign == std::string::npos && !has_next)) continue;
    all.back() = "--set";
    all.push_back(word_of(name) + '=' + (sign == std::string::npos ? words[++i] : word.substr(sign + 1)));
  }
  return all;
}

std::string advice_on_option(const CLI::App& command, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options())
    for (const std::string& name : known->get_lnames()) names.push_back(fmt::format("{}{}", dashes, name));
  if (!has_settings(command)) return config::did_you_mean(option, names);
  if (const std::string key = key_of(option); !key.empty())
    return fmt::format("it sets '{}' and needs a value: --set {}=VALUE", key, key);
  const std::string_view word = std::string_view(option).substr(dashes.size());
  const auto is_it = [&](const config::OtherWord& other) { return config::is_same_word(other.word, word); };
  if (const auto known = std::ranges::find_if(config::glossary, is_it); known != config::glossary.end())
    return known->key.find(' ') == std::string_view::npos ? fmt::format("--set {}", known->key)
                                                          : std::string(known->key);
  for (const config::OtherWord& other : config::glossary) {
    if (other.is_same) names.push_back(as_option(other.word));
  }
  return config::did_you_mean(option, names);
}

std::vector<std::pair<std::string, std::string_view>> options_of_glossary(const CLI::App& command,
                                                                          std::string_view typed) {
  std::vector<std::pair<std::string, std::string_view>> options;
  if (!has_settings(command) || !is_option(typed)) return options;
  for (const config::OtherWord& other : config::glossary) {
    std::string option = as_option(other.word);
    if (other.is_same && option.starts_with(typed)) options.emplace_back(std::move(option), other.key);
  }
  return options;
}

}  // namespace trainyard
