#pragma once
// Words as shells read them.

#include <string>
#include <string_view>

namespace trainyard {

/// In single quotes, whatever is in it: what sh, bash and zsh take as the word itself.
inline std::string in_shell_quotes(std::string_view word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

/// The same for people to read: without quotes where no shell needs them, in double quotes where nothing but
/// blanks does ("50 Gbps").
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
