#include "units/shell_word.hpp"

#include <cstdio>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// The text that sh reads as one argument.
std::string read_by_sh(const std::string& word) {
  FILE* const shell = popen(("printf %s. " + word).c_str(), "r");
  REQUIRE(shell != nullptr);
  std::string text;
  for (int letter = std::fgetc(shell); letter != EOF; letter = std::fgetc(shell))
    text += static_cast<char>(letter);
  REQUIRE(pclose(shell) == 0);
  REQUIRE(text.ends_with('.'));
  text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("sh reads quoted words as they are") {
  for (const std::string word : {"",
                                 "plain",
                                 "50 Gbps",
                                 "a'b",
                                 "''",
                                 "\"x\"",
                                 "$HOME",
                                 "`ls`",
                                 "a\\b",
                                 "a!b",
                                 "#x",
                                 "~",
                                 "*",
                                 "a\nb",
                                 "a\tb",
                                 "{at: 20 ms}",
                                 "[1, 2]",
                                 "a&b|c;d<e>f(g)",
                                 "2,3=4%@+",
                                 "caf\xC3\xA9",
                                 "folder/my run.yaml"}) {
    CAPTURE(word);
    CHECK(read_by_sh(shell_word(word)) == word);
    CHECK(read_by_sh(in_shell_quotes(word)) == word);
  }
}

TEST_CASE("words are quoted only where a shell needs it") {
  CHECK(shell_word("resnet50_dgx2") == "resnet50_dgx2");
  CHECK(shell_word("nodes=4") == "nodes=4");
  CHECK(shell_word("50 Gbps") == "\"50 Gbps\"");
  CHECK(shell_word("{a: 1}") == "'{a: 1}'");
  CHECK(in_shell_quotes("plain") == "'plain'");
}
