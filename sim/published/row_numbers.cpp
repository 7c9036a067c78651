#include "published/row_numbers.hpp"

#include "config/diagnostic.hpp"
#include "rules/rule_settings.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

constexpr std::string_view model_word = "model ";
constexpr std::string_view notes_word = "notes ";

bool is_of_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// The letters that follow a word and are wanted; empty if there is none after it, or if the word is only the
/// end of another one.
std::string text_after(std::string_view text, std::string_view word, bool (*is_wanted)(char)) {
  for (std::size_t place = text.find(word); place != std::string_view::npos;
       place = text.find(word, place + 1)) {
    if (place > 0 && is_of_word(text[place - 1]) && is_of_word(word.front())) continue;
    const std::string_view rest = text.substr(place + word.size());
    const auto end = std::ranges::find_if_not(rest, is_wanted);
    if (end != rest.begin()) return std::string(rest.begin(), end);
  }
  return {};
}

/// The row's number or word; empty if it does not state it.
std::string value_of_row(const PublishedRow& row, std::string_view word) {
  if (word.starts_with(model_word)) return number_after(row.model, word.substr(model_word.size()));
  if (word.starts_with(notes_word)) return word_after(row.notes, word.substr(notes_word.size()));
  const LayoutColumns layout = row.layout.value_or(LayoutColumns());
  const int global = positive(row.global_batch);
  const int replicas = layout.data;
  const std::pair<std::string_view, int> numbers[] = {
      {"gpus", row.gpus_total},
      {"nodes", row.nodes},
      {"gpus_per_node", std::min(row.gpus_per_node, row.gpus_total)},
      {"servers", row.servers > 0 ? row.servers : row.nodes},
      {"layers", layout.layers},
      {"hidden", layout.hidden},
      {"heads", layout.heads},
      {"vocabulary", layout.vocabulary},
      {"sequence", positive(row.seq_len)},
      {"replica_batch", replicas > 0 && global % replicas == 0 ? global / replicas : 0}};
  for (const auto& [name, number] : numbers) {
    if (name == word) return number > 0 ? std::to_string(number) : std::string();
  }
  return {};
}

}  // namespace

int positive(const std::string& text) {
  const Parsed<long long> number = parse_integer(text);
  constexpr long long most = 1'000'000'000;
  return number && *number >= 1 && *number <= most ? static_cast<int>(*number) : 0;
}

tl::expected<std::string, std::string> with_row_numbers(const std::string& text, const PublishedRow& row) {
  std::string missing;
  std::string filled = with_numbers(text, [&](const std::string& word, const std::string& otherwise) {
    std::string number = value_of_row(row, word);
    if (number.empty()) number = otherwise;
    if (number.empty() && missing.empty()) missing = word;
    return number;
  });
  if (missing.empty()) return filled;
  if (missing.starts_with(model_word)) {
    return tl::unexpected(fmt::format("no number follows '{}' in the model '{}'",
                                      missing.substr(model_word.size()), row.model));
  }
  if (missing.starts_with(notes_word))
    return tl::unexpected(
        fmt::format("no word follows '{}' in the notes", missing.substr(notes_word.size())));
  return tl::unexpected(fmt::format("the row does not state {{{}}}", missing));
}

std::string number_after(std::string_view model, std::string_view word) {
  return text_after(model, word, [](char letter) { return letter >= '0' && letter <= '9'; });
}

std::string word_after(std::string_view notes, std::string_view word) {
  return text_after(notes, word, is_of_word);
}

}  // namespace trainyard
