#pragma once
// What can come next on a command line that is being typed. The scripts of `trainyard completion` hand over
// the words so far and show what this answers, so that no shell knows more of the commands than the commands
// do.

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The first word of a question: `trainyard __complete WORD... LAST`, in which LAST is being typed and may be
/// empty. Not a command: no person types it.
inline constexpr std::string_view completion_question = "__complete";

/// The answer: a line "none", "files" or "folders", whether paths fit as well, then a line "WORD" or
/// "WORD<tab>DESCRIPTION" for each word that may stand in the place of the last. `words` are those behind the
/// program's name. bash hands "--set=x" over as three words, and wants only what comes behind the "=".
std::string completions(CLI::App& program, const std::vector<std::string>& words);

}  // namespace trainyard
