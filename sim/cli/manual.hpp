#pragma once
// Parts of the manual page in the language of man(7), generated from the commands, so that it always agrees
// with --help.

#include "cli/other_commands.hpp"

#include <CLI/App.hpp>
#include <string>
#include <string_view>

namespace trainyard {

/// The first word of a question: `trainyard-lab __manual validate` prints the section of a command. Users do
/// not type it.
inline constexpr std::string_view manual_question = "__manual";

/// Text escaped so that troff prints it unchanged. Every "-" can be copied into a shell.
std::string troff(std::string_view text);

/// A paragraph with a heading of its own.
std::string tagged(std::string_view tag, std::string_view text);

/// The section of a command of another program; null: all commands are of this program.
using SectionOfOther = std::string (*)(const OtherCommand& command);

/// The command with its arguments, options and examples, and those below it. ASCII.
std::string manual_section(const CLI::App& command, SectionOfOther other = nullptr);

}  // namespace trainyard
