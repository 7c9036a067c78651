#pragma once
// The units of each kind of quantity: all spellings read, and those written.

#include <span>
#include <string_view>

namespace trainyard {

/// One of these units is 10^tens * 2^twos * times in SI base units.
struct Unit {
  std::string_view text;
  int tens = 0;
  int twos = 0;
  int times = 1;
};

struct Dimension {
  std::string_view name;       ///< "bandwidth"
  std::string_view article;    ///< "a"
  std::string_view example;    ///< "25 GB/s"
  std::string_view unit_hint;  ///< hint for a missing unit; # stands for the number
  std::span<const Unit> units;
  std::span<const Unit> shown;  ///< powers of ten for output, ascending
};

extern const Dimension time_dimension;
extern const Dimension size_dimension;
extern const Dimension bandwidth_dimension;
extern const Dimension flops_dimension;
extern const Dimension flop_rate_dimension;
extern const Dimension energy_dimension;
extern const Dimension power_dimension;
extern const Dimension money_dimension;
extern const Dimension sample_rate_dimension;

/// All of the above, to find the kind of quantity of a misplaced unit.
std::span<const Dimension* const> all_dimensions();

}  // namespace trainyard
