#pragma once
// The program's output: results on stdout, everything else on stderr.

#include "config/diagnostic.hpp"

#include <string_view>
#include <vector>

namespace trainyard {

/// Writes a result to stdout and checks that it arrived. Throws FileError if it did not (a full disk, a
/// closed stream).
void print_result(std::string_view text);

/// Writes a line to stderr.
void print_message(std::string_view text);

/// Writes each error or warning to stderr; "trainyard" stands for the file where there is none.
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);

/// True if stdout is a terminal that shows colour and the user has not set NO_COLOR (no-color.org).
bool wants_colour();

}  // namespace trainyard
