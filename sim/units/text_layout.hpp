#pragma once
// Small functions for text in the reports: rounded numbers, percentages. units/lines.hpp wraps paragraphs.

#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// Three significant digits, as many as a prediction's error bears, never an exponent, thousands separators:
/// "5,730", "367", "0.0250".
std::string rounded(double number);

/// As rounded(), with the decimals of `largest`, the largest number of a column.
std::string rounded_like(double number, double largest);

/// A number for people with its sign, "+3.1 ms"; none where all digits are 0: "0.0 ms", never "-0.0 ms".
std::string with_sign(std::string number);

/// A ratio as a percentage with one decimal: "97.6 %"; "< 0.1 %" for positive ratios that would print as
/// zero.
std::string percent(double ratio);

/// A change as a percentage with its sign and one decimal: "+3.1 %", "0.0 %".
std::string signed_percent(double ratio);

/// "1,024", of a count that is held as a double.
std::string count_text(double number);

/// "1,024 GPUs", "1 GPU".
std::string count(std::int64_t number, std::string_view noun);

/// "+3", "0": a change in whole percent, as the ends of an interval bear no more digits.
std::string whole_percent(double ratio);

/// "12.3" and "+12.3" of a column in percent; "-" without a value.
std::string percent_cell(std::optional<double> ratio);
std::string signed_cell(std::optional<double> ratio);

/// By how much `time` is longer than `than`: "takes 0.2 % longer", "takes as long".
std::string takes_longer(Seconds time, Seconds than);

}  // namespace trainyard
