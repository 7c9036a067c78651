#include "cli/complete.hpp"

#include "cli/experiment_keys.hpp"
#include "cli/help.hpp"
#include "cli/key_options.hpp"
#include "cli/offers.hpp"
#include "config/catalogue.hpp"
#include "config/glossary.hpp"
#include "experiment/keys_meant.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace trainyard {

namespace {

/// The position on the command line after all words except the last.
struct Place {
  CLI::App* command;
  CLI::Option* open = nullptr;      ///< the option whose value comes next
  bool may_close = false;           ///< it already has a value and accepts more
  bool arguments_only = false;      ///< after "--"
  std::vector<CLI::Option*> given;  ///< options and arguments
  std::size_t arguments = 0;
};

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool takes_many(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

bool is_repeatable(const CLI::Option& option) {
  return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll || takes_many(option);
}

CLI::Option* option_named(CLI::App& command, const std::string& word) {
  for (CLI::Option* option : command.get_options()) {
    if (option->check_name(word)) return option;
  }
  return nullptr;
}

CLI::App* command_named(CLI::App& command, const std::string& word) {
  const auto found = command.get_subcommands([&](CLI::App* each) { return each->get_name() == word; });
  return found.empty() ? nullptr : found.front();
}

/// The argument to which the next word belongs, or null if the command accepts no more.
CLI::Option* next_argument(const Place& place) {
  CLI::Option* last = nullptr;
  std::size_t passed = 0;
  for (CLI::Option* option : place.command->get_options()) {
    if (!option->get_positional()) continue;
    if (passed++ == place.arguments) return option;
    last = option;
  }
  return last != nullptr && takes_many(*last) ? last : nullptr;
}

void read_option(Place& place, const std::string& word) {
  const std::size_t sign = word.find('=');
  const bool is_long = word.starts_with("--");
  CLI::Option* option =
      option_named(*place.command, is_long ? word.substr(0, sign) : word.substr(0, 2));  // -j4, --jobs=4
  if (option == nullptr) return;
  place.given.push_back(option);
  const bool has_value = is_long ? sign != std::string::npos : word.size() > 2;
  if (takes_value(*option) && (!has_value || takes_many(*option))) place.open = option;
  place.may_close = has_value;
}

void read_word(Place& place, const std::string& word) {
  const bool is_option = !place.arguments_only && word.size() > 1 && word.starts_with('-');
  if (place.open != nullptr && !(is_option && place.may_close)) {
    place.may_close = true;
    if (!takes_many(*place.open)) place.open = nullptr;
    return;
  }
  place.open = nullptr;
  if (is_option && word == "--") {
    place.arguments_only = true;
  } else if (is_option) {
    read_option(place, word);
  } else if (CLI::App* command = command_named(*place.command, word)) {
    place = Place{.command = command, .given = {}};
  } else {
    if (CLI::Option* argument = next_argument(place)) place.given.push_back(argument);
    ++place.arguments;
  }
}

/// Collects the answer: accepts only words that begin with the typed text.
class Answer {
public:
  explicit Answer(std::string typed) : typed_(std::move(typed)) {}
  [[nodiscard]] const std::string& typed() const { return typed_; }
  [[nodiscard]] bool is_empty() const { return words_.empty(); }

  void add(const std::string& word, const std::string& description = {}) {
    if (!word.starts_with(typed_)) return;
    words_ += word.substr(hidden_) + (description.empty() ? "" : '\t' + description) + '\n';
  }
  void add_values(CLI::Option& option, const std::string& before);
  void add_settings(const std::string& before);
  /// The shell gets only the text after this number of characters.
  void hide(std::size_t characters) { hidden_ = characters; }
  [[nodiscard]] std::string text() const { return paths_ + '\n' + words_; }

private:
  std::string typed_;
  std::string words_;
  std::string paths_ = "none";
  std::size_t hidden_ = 0;
};

/// Kinds of files whose names are values of a key.
std::optional<config::Kind> kind_named_by(std::string_view key) {
  if (key == "platform") return config::Kind::platform;
  if (key == "platform.node.gpus.profile") return config::Kind::gpu;
  if (key == "model") return config::Kind::model;
  if (key == "stack") return config::Kind::stack;
  if (key == "stack.lowering") return config::Kind::lowering;
  if (key == "software") return config::Kind::software;
  return std::nullopt;
}

/// Adds keys, or after "=" the names that a key's value may be.
void Answer::add_settings(const std::string& before) {
  const std::size_t sign = typed_.find('=', before.size());
  const std::string word =
      typed_.substr(before.size(), sign == std::string::npos ? sign : sign - before.size());
  const std::string key = key_meant(word);
  const std::string setting = before + word + '=';
  for (const KeyGroup& group : key_groups()) {
    for (const config::ListedKey& listed : keys_of(group)) {
      if (sign == std::string::npos) {
        add(before + listed.path + '=', std::string(listed.doc));
      } else if (listed.path == key) {
        for (const std::string_view name : listed.names) add(setting + std::string(name));
      }
    }
  }
  if (sign == std::string::npos && is_empty()) {
    for (const config::OtherWord& other : config::glossary) {
      if (other.is_same) add(fmt::format("{}{}=", before, other.word), std::string(other.key));
    }
  }
  const auto kind = kind_named_by(key);
  if (sign == std::string::npos || !kind) return;
  for (const std::string& name : config::names(config::find_catalogue(), *kind)) add(setting + name);
}

/// `before`: "--fidelity=" if the value is part of that word.
void Answer::add_values(CLI::Option& option, const std::string& before) {
  const Offer offer = offer_of(option);
  if (offer.settings) return add_settings(before);
  for (const std::string& word : offer.words) add(before + word);
  for (const config::Kind kind : offer.kinds) {
    for (const std::string& name : config::names(config::find_catalogue(), kind)) add(before + name);
  }
  // A user's own file is written with a slash, or has a name different from all shipped ones.
  const bool is_path = is_empty() || typed_.find('/', before.size()) != std::string::npos;
  if (offer.files || (!offer.kinds.empty() && is_path)) paths_ = "files";
  if (offer.folders && paths_ == "none") paths_ = "folders";
}

void add_options(Answer& answer, const Place& place) {
  for (CLI::Option* option : place.command->get_options()) {
    const auto excluded = option->get_excludes();
    const auto is_excluded = [&](CLI::Option* given) {
      return (given == option && !is_repeatable(*option)) || excluded.contains(given);
    };
    if (option->get_group().empty() || std::ranges::any_of(place.given, is_excluded)) continue;
    for (const std::string& name : option->get_lnames()) answer.add("--" + name, option->get_description());
    for (const std::string& name : option->get_snames()) {
      if (option->get_lnames().empty() || answer.typed() == "-" + name)
        answer.add("-" + name, option->get_description());
    }
  }
}

/// Options by which other software calls a key, if nothing else begins as the typed text does.
void add_other_words(Answer& answer, const Place& place) {
  if (!answer.is_empty()) return;
  for (const auto& [option, key] : options_of_glossary(*place.command, answer.typed()))
    answer.add(option, fmt::format("the key {}", key));
}

void add_commands_of(Answer& answer, const CLI::App& command) {
  for (const CLI::App* each : commands_of(command)) answer.add(each->get_name(), each->get_description());
}

/// Joins words that bash has split: "--set", "=", "x".
std::vector<std::string> joined(const std::vector<std::string>& words) {
  std::vector<std::string> whole;
  bool is_behind_sign = false;
  for (const std::string& word : words) {
    const bool is_sign = word == "=" && !whole.empty();
    if (is_sign || is_behind_sign) {
      whole.back() += word;
    } else {
      whole.push_back(word);
    }
    is_behind_sign = is_sign;
  }
  return whole;
}

/// with_settings(), where an option that names a key and its sign are still one word.
std::vector<std::string> with_settings_before(CLI::App& program, std::vector<std::string> words) {
  if (!words.back().starts_with("--")) return with_settings(program, words);
  std::string last = std::move(words.back());
  words.pop_back();
  words = with_settings(program, words);
  words.push_back(std::move(last));
  return words;
}

}  // namespace

std::string completions(CLI::App& program, const std::vector<std::string>& words) {
  if (words.empty()) return completions(program, {""});
  const std::vector<std::string> whole = with_settings_before(program, joined(words));
  Place place{.command = &program, .given = {}};
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) read_word(place, whole[i]);

  Answer answer(whole.back());
  const std::string& typed = answer.typed();
  const std::size_t value = typed.find('=') + 1;  // 0 if there is none
  if (typed != words.back()) answer.hide(value);  // bash splits at the sign, and keys are options
  const bool is_option = typed.starts_with('-') && !place.arguments_only;
  if (place.open != nullptr && !(is_option && place.may_close)) {
    answer.add_values(*place.open, "");
  } else if (is_option && typed.starts_with("--") && value > 0) {
    CLI::Option* option = option_named(*place.command, typed.substr(0, value - 1));
    if (option != nullptr && takes_value(*option)) answer.add_values(*option, typed.substr(0, value));
  } else if (is_option) {
    add_options(answer, place);
    add_other_words(answer, place);
  } else if (CLI::Option* argument = next_argument(place)) {
    answer.add_values(*argument, "");
  } else {
    if (place.arguments == 0) add_commands_of(answer, *place.command);
    if (answer.is_empty()) add_options(answer, place);
  }
  return answer.text();
}

}  // namespace trainyard
