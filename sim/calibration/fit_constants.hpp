#pragma once
// The constants of protocols.hpp that `trainyard calibrate collectives` fits, where each begins and what the
// others are assumed to be.

#include "collectives/protocols.hpp"

#include <functional>
#include <string>
#include <vector>

namespace trainyard {

/// Everything assumed or specified: what the file says before anything is fitted, and of what no row tells.
Protocols assumed_protocols();

/// One number that is fitted. It may stand in several places of the file.
struct FitConstant {
  std::string name;  ///< "paths.nvlink2.step.simple"
  double prior = 0;  ///< seconds or a ratio: what NCCL's own tables say
  bool is_time = true;
  /// Puts a value (seconds or a ratio) with its provenance and source into all its places.
  std::function<void(Protocols&, double, Provenance, const std::string&)> set;
};

std::vector<FitConstant> fit_constants();

/// After the fitted ones are set: media nobody measured get those of the nearest relative.
void copy_to_relatives(Protocols& constants);

/// Rounds what one constant has put into several places in proportion.
void round_shared_steps(Protocols& constants);

/// As it stands in the file: times in whole hundredths of a microsecond, ratios in thousandths.
double rounded_constant(double value, bool is_time);

}  // namespace trainyard
