#pragma once
// The manual page, made from the commands themselves, so that it cannot say anything else than --help does.

#include <CLI/App.hpp>
#include <string>

namespace trainyard {

/// trainyard(1) in the language of man(7): every command with its arguments, options and examples, then exit
/// codes, environment and files. ASCII.
std::string manual_page(const CLI::App& program);

}  // namespace trainyard
