#pragma once
// Text in CSV files, which people open with a spreadsheet: it executes a cell that begins with =, +, -, @, a
// tab or a carriage return as a formula, also if the cell is quoted, and takes commas or semicolons as the
// ends of cells. An apostrophe before such text makes it text there (OWASP, "CSV Injection"). Our readers
// take it away again.

#include <string>
#include <string_view>

namespace trainyard {

/// The text with an apostrophe before each part between commas and semicolons that a spreadsheet would
/// execute, or that looks as if it had got one. Numbers stay as they are.
std::string with_apostrophes(std::string_view text);

/// The text of which `guarded` is with_apostrophes().
std::string without_apostrophes(std::string_view guarded);

}  // namespace trainyard
