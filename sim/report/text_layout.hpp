#pragma once
// Small functions for text in the reports: rounded numbers, percentages, wrapped paragraphs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A whole number with thousands separators: "25,557,032".
std::string grouped(std::int64_t number);

/// Four significant digits, never an exponent, thousands separators: "5,731", "367.0", "0.02500". Numbers of
/// five and more digits keep all digits before the point.
std::string rounded(double number);

/// A ratio as a percentage with one decimal: "97.6 %"; "< 0.1 %" for nonzero ratios that would print as zero.
std::string percent(double ratio);

/// Columns of a UTF-8 text on a terminal: its characters.
std::size_t columns(std::string_view text);

/// The text, cut in the middle to at most `width` (>= 5) columns: "node12.gp...nvswitch0".
std::string elide(std::string_view text, std::size_t width);

/// Breaks a text at blanks into lines of at most `width` columns, but not between a number and its unit; a
/// longer word gets a line of its own, cut.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace trainyard
