#pragma once
// The picture of `trainyard collective --plot`: time over size, one line per algorithm and protocol.

#include "run/collective_sweep.hpp"

#include <string>

namespace trainyard {

/// Times of all rows as an SVG picture with logarithmic axes: a line for each algorithm and protocol of each
/// group, broken where others carry out the sizes between, and distinguishable without colours; for a single
/// group also the bound. Requires a row.
std::string collective_plot(const CollectiveReport& report);

}  // namespace trainyard
