#pragma once
// `run --assert 'step_time < 130 ms'`: a condition on a figure of summary.json, for continuous integration.

#include "run/figures.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct Assertion {
  std::string text;  ///< as given
  const Figure* figure = nullptr;
  std::string sign;  ///< <, <=, > or >=
  double limit = 0;  ///< in SI base units
};

/// FIGURE SIGN VALUE. The figure is a field of summary.json, with or without its unit ("step_time"); the
/// value has a unit where the figure has one ("130 ms", "80 %", "12 GB"). Throws CLI::ValidationError.
Assertion read_assertion(const std::string& text);

/// Throws LimitMissed with all that do not hold. A figure that is not modelled holds nothing.
void require(const std::vector<Assertion>& assertions, const Run& run);

/// `run --verify`: throws LimitMissed if the messages differ by more than is documented. A run that could not
/// be compared misses nothing.
void require_within(const Known<Verification>& verified);

}  // namespace trainyard
