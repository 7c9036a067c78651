#pragma once
// Possible continuations of an unfinished command line. The scripts of `trainyard completion` pass the words
// so far and show the answer, so that shells need not know the commands.

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The first word of a question: `trainyard __complete WORD... LAST`, where LAST is unfinished and may be
/// empty. Not a command: users do not type it.
inline constexpr std::string_view completion_question = "__complete";

/// The answer: a line "none", "files" or "folders", whether paths fit as well, then a line "WORD" or
/// "WORD<tab>DESCRIPTION" for each possible last word. `words` are those after the program's name. bash
/// passes "--set=x" as three words, and needs only the text after the "=".
std::string completions(CLI::App& program, const std::vector<std::string>& words);

}  // namespace trainyard
