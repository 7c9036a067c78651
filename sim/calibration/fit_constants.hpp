#pragma once
// The constants of protocols.hpp that `trainyard calibrate collectives` fits, the start of each, and the
// assumed values of the others.

#include "collectives/protocols.hpp"

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace trainyard {

/// All values are assumed or specified: before a fit, and for constants that no row determines.
Protocols assumed_protocols();

/// One number that is fitted. It may stand in several places of the file.
struct FitConstant {
  std::string name;       ///< "paths.nvlink2.step.simple"
  double prior = 0;       ///< seconds, bytes per second or a ratio, from NCCL's own tables
  double resolution = 0;  ///< the file has whole multiples of 1 / resolution
  /// Puts a value with its provenance and source into all its places.
  std::function<void(Protocols&, double, Provenance, const std::string&)> set;
};

/// All but those of channels between nodes.
std::vector<FitConstant> fit_constants();

/// Of channels that take turns between nodes (collectives/turns.hpp), fitted after the others.
std::vector<FitConstant> turn_constants();

/// After the fitted ones are set: media nobody measured get those of the nearest relative.
void copy_to_relatives(Protocols& constants);

/// Rounds values that one constant sets in several places in proportion.
void round_shared_steps(Protocols& constants);

/// The resolution of figures of a type in the file: hundredths of a microsecond, hundredths of a GB/s and
/// thousandths.
template <class T>
constexpr double resolution_of() {
  if (std::is_same_v<T, Seconds>) return 1e8;
  return std::is_same_v<T, Bandwidth> ? 1e-7 : 1e3;
}

/// The whole multiple of 1 / resolution that is nearest.
double rounded_constant(double value, double resolution);

}  // namespace trainyard
