#pragma once
// Figures in a readable form.

#include "run/figures.hpp"

#include <span>
#include <string>

namespace trainyard {

/// "12.5 ms", "97.1 %", "6,076 samples/s".
std::string in_unit(const FigureValue& value, FigureUnit unit);

/// A row "| `field` | definition |" for each figure, as sim/README.md lists them.
std::string figures_markdown(std::span<const Figure> table = figures());

}  // namespace trainyard
