#pragma once
// The manual page, generated from the commands, so that it always agrees with --help.

#include <CLI/App.hpp>
#include <string>

namespace trainyard {

/// trainyard(1) in the language of man(7): every command with its arguments, options and examples, then exit
/// codes, environment and files. ASCII.
std::string manual_page(const CLI::App& program);

}  // namespace trainyard
