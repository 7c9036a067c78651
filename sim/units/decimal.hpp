#pragma once
// Strict decimal numbers as text, shared by parse_quantity, parse_number and parse_integer. A number keeps
// its decimal exponent separately, so that a unit's power of ten is applied before the one rounding to
// binary: "1.2 us" is the double nearest to 1.2e-6.

#include "units/text.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

struct Decimal {
  bool negative = false;
  std::string digits;  ///< significant digits without point and leading zeros; empty for zero
  long exponent = 0;   ///< value = 0.digits * 10^exponent
};

/// The number at the start of a text, and the rest of the text.
struct LeadingDecimal {
  Decimal decimal;
  std::string_view rest;
};

/// Reads the number at the start of `text`; empty if there is none.
std::optional<LeadingDecimal> leading_decimal(std::string_view text);

/// Why `text` is not a decimal number although it looks like one: infinite, hexadecimal, separators, leading
/// zeros. Empty if there is no particular reason.
std::optional<UnitError> number_mistake(std::string_view text);

/// The double nearest to decimal * 10^shift, or why there is none (too large, or too small to differ from 0).
/// `text`: the number as written, for the message.
Parsed<double> to_double(const Decimal& decimal, int shift, std::string_view text);

/// The decimal of shortest(number). Throws std::invalid_argument if `number` is infinite or no number.
Decimal shortest_decimal(double number);

/// decimal * 10^-shift as text: "150", "0.00375", "1.5e+25".
std::string to_text(const Decimal& decimal, int shift);

}  // namespace trainyard
