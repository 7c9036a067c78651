#pragma once
// `trainyard calibrate collectives`: the constants of NCCL's protocols fitted to published curves with split
// calibrate. Rates of links stay with the platforms: the fit finds its own and says where a file differs.

#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "published/collective_curves.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The rate of a ring's links by the fit, and by the platform's file.
struct FittedRate {
  std::string platform;
  PathType path{};
  Bandwidth in_file;
  Bandwidth fitted;
};

struct FittedCurve {
  std::string name;
  PathType path{};
  std::optional<double> large, small;  ///< mean absolute error from 1 MiB on, and below
  /// Errors by a fit that has not seen any curve of the machine's kin, with the rates NCCL plans with.
  std::optional<double> large_left_out, small_left_out;
};

struct CollectiveFit {
  Protocols constants;
  std::vector<FittedRate> rates;
  std::vector<FittedCurve> curves;
  std::map<std::string, int> excluded;  ///< rows by reason
};

/// Fits to the curves with split calibrate; the others are counted in `excluded`. Throws InputError if there
/// is none. `leaves_out`: also fits without each machine in turn, which takes ten times as long.
CollectiveFit fit_collectives(const config::Catalogue& catalogue, const CollectiveCurves& curves,
                              bool leaves_out = true);

}  // namespace trainyard
