#pragma once
// Keys as options: a command that has --set takes every key of experiments, and every word of the glossary
// that is the same, as an option: "--gradient-accumulation-steps 8" is "--set accumulation=8". Help does not
// list them.

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// The words of a command line, those after the program's name, with --set KEY=VALUE in place of options that
/// the command does not have and that name a key. One without a value stays.
std::vector<std::string> with_settings(CLI::App& program, const std::vector<std::string>& words);

/// Advice on an option that the command does not have: what it is called here, or which option or key is
/// meant. Empty if there is none.
std::string advice_on_option(const CLI::App& command, const std::string& option);

/// Words of the glossary as options that begin with the typed text, for a command that has --set, each with
/// its key: {"--grad-accum", "accumulation"}.
std::vector<std::pair<std::string, std::string_view>> options_of_glossary(const CLI::App& command,
                                                                          std::string_view typed);

}  // namespace trainyard
