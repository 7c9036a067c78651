#pragma once
// Figures in a readable form.

#include "run/figures.hpp"

#include <string>

namespace trainyard {

/// "12.5 ms", "97.1 %", "6,076 samples/s".
std::string in_unit(const FigureValue& value, FigureUnit unit);

/// "2.96 USD", "2.96 USD (assumed price)".
std::string cost_in_words(double usd, bool is_assumed);

/// A number in the unit and with the decimals of `largest`, the largest of its line.
std::string in_unit_like(double number, double largest, FigureUnit unit);

}  // namespace trainyard
