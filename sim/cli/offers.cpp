#include "cli/offers.hpp"

#include "cli/file_kind.hpp"

#include <CLI/Validators.hpp>
#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>

namespace trainyard {

namespace {

/// CLI11 options have no place for a remark except the description of a validator. This one stays inactive:
/// it neither checks anything nor appears in the help.
constexpr const char* offers_remark = "offers";

std::vector<std::string> offered_words(CLI::Option& option) {
  try {
    const CLI::Validator& found = *option.get_validator(offers_remark);
    std::istringstream text(found.active(true).get_description());  // only an active copy has a description
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    return words;
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

std::optional<config::Kind> kind_of_metavar(std::string_view metavar) {
  const auto is_capital_of = [](char capital, char letter) { return capital - 'A' == letter - 'a'; };
  for (const KindWord& known : kind_words) {
    if (std::ranges::equal(metavar, known.word, is_capital_of)) return known.kind;
  }
  return std::nullopt;
}

}  // namespace

CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return option->check(CLI::Validator(text).active(false), offers_remark);
}

Offer offer_of(CLI::Option& option) {
  Offer offer;
  const auto add_metavar = [&](std::string_view metavar) {
    if (const auto kind = kind_of_metavar(metavar)) {
      offer.kinds.push_back(*kind);
    } else if (metavar == "FILE" || metavar == "CSV") {
      offer.files = true;
    } else if (metavar == "DIR") {
      offer.folders = true;
    } else if (metavar.starts_with("KEY=")) {
      offer.settings = true;
    } else {
      return false;
    }
    return true;
  };
  const std::vector<std::string> words = offered_words(option);
  for (const std::string& word : words) {
    if (!add_metavar(word)) offer.words.push_back(word);
  }
  const bool is_argument = option.get_positional();
  const std::string metavar = is_argument ? option.get_name() : option.get_type_name();
  if (words.empty() && !add_metavar(metavar)) offer.files = is_argument;
  return offer;
}

}  // namespace trainyard
