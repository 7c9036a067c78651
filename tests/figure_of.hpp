#pragma once
// The numbers that a run is known by, by their fields in summary.json.

#include "run/figures.hpp"

#include <string_view>

namespace trainyard {

/// In SI base units. Throws if the run has no such number.
inline double figure_of(const Run& run, std::string_view field) {
  return std::get<double>(figures()[index_of(field)].of(run).value());
}

}  // namespace trainyard
