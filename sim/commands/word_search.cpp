#include "commands/word_search.hpp"

#include "units/letters.hpp"

#include <algorithm>
#include <cstddef>

namespace trainyard {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

char plain(char c) { return c == '-' || c == '_' ? ' ' : small_letter(c); }

/// Whether a word begins at this place of the text: behind neither a letter nor a digit.
bool begins_word(std::string_view text, std::size_t at) {
  return at == 0 || (!is_letter(text[at - 1]) && !is_digit(text[at - 1]));
}

bool has_from_word(std::string_view text, std::string_view pattern) {
  const auto same = [](char a, char b) { return plain(a) == plain(b); };
  for (auto from = text.begin();;) {
    from = std::search(from, text.end(), pattern.begin(), pattern.end(), same);
    if (from == text.end()) return false;
    if (begins_word(text, static_cast<std::size_t>(from - text.begin()))) return true;
    ++from;
  }
}

}  // namespace

bool has_word(std::string_view text, std::string_view pattern) {
  if (pattern.empty() || has_from_word(text, pattern)) return true;
  constexpr std::size_t least = 4;
  return pattern.size() >= least && pattern.ends_with('s') &&
         has_from_word(text, pattern.substr(0, pattern.size() - 1));
}

bool has_all_words(std::string_view text, std::string_view pattern) {
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find_first_of(" -_"), pattern.size());
    if (!has_word(text, pattern.substr(0, end))) return false;
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return true;
}

}  // namespace trainyard
