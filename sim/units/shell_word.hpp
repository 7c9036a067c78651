#pragma once
// Quoting for shells.

#include <string>
#include <string_view>

namespace trainyard {

/// In single quotes, with any content: sh, bash and zsh read it as one word.
inline std::string in_shell_quotes(std::string_view word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

/// A shell word for people: without quotes if no shell needs them, in double quotes if only blanks need them
/// ("50 Gbps").
inline std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
  bool has_blank = word.empty();
  for (const char letter : word) {
    if (plain.find(letter) != std::string_view::npos) continue;
    if (letter != ' ') return in_shell_quotes(word);
    has_blank = true;
  }
  return has_blank ? '"' + std::string(word) + '"' : std::string(word);
}

}  // namespace trainyard
