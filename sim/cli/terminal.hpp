#pragma once
// The program's output: results on stdout, everything else on stderr.

#include "config/diagnostic.hpp"
#include "units/print_style.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace trainyard {

/// Writes a result to stdout and checks that it arrived. Throws FileError if it did not (a full disk, a
/// closed stream).
void print_result(std::string_view text);

/// Writes a text to stderr and ends its line; wider lines are wrapped, words stay whole. Control characters,
/// which strangers' texts may have, become question marks.
void print_message(std::string_view text);

/// Writes each error or warning to stderr; without a file "trainyard" stands in its place.
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);

/// How results are printed: in colour if stdout is a terminal that shows it and the user has not set NO_COLOR
/// (no-color.org); as wide as COLUMNS says, or else that terminal is, between 60 and 160 columns; 100 into a
/// pipe or a file.
PrintStyle print_style();

/// Columns of messages: the same for stderr.
std::size_t message_width();

}  // namespace trainyard
