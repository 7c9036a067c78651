#pragma once
// Lines of text on a terminal: widths in characters, wrapped paragraphs, commands that can still be pasted.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Columns of a UTF-8 text on a terminal: its characters.
std::size_t columns(std::string_view text);

/// The text, cut in the middle to at most `width` (>= 5) columns: "node12.gp...nvswitch0".
std::string elide(std::string_view text, std::size_t width);

/// Breaks a text at blanks into lines of at most `width` columns, but not between a number and its unit; a
/// longer word gets a line of its own, cut.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// As wrap(), but a longer word stays whole on a line of its own: a path or a command that users copy.
std::vector<std::string> wrap_whole(std::string_view text, std::size_t width);

/// `label` and the text in lines of at most `width` columns, each with a line break; later lines are indented
/// below the text's first. Below a label that leaves little room the text begins on the next line.
std::string hanging(std::string_view label, std::string_view text, std::size_t width);

/// Lines that all begin with "# ", as headers of tables do.
std::string comment(std::string_view text, std::size_t width);

/// The text with every line that is wider than the page wrapped below its own indent, two columns deeper;
/// words stay whole. Narrower lines stay as they are.
std::string fitted_lines(std::string_view text, std::size_t width);

/// A shell command, broken at blanks outside quotes with a backslash, so that the lines can be pasted. Words
/// stay whole. Every line but the last ends in " \", later ones are indented by `indent` + 4; the first is
/// expected at column `indent`. Without a line break at the end.
std::string command_lines(std::string_view command, std::size_t indent, std::size_t width);

}  // namespace trainyard
