#pragma once
// Unmeasured, unspecified inputs of predictions: every number that a run's files call assumed, and the effect
// of changing it by 30 % on the errors of `trainyard validate`.

#include "config/catalogue.hpp"
#include "published/validation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// One assumption: the values of all files that give the same reason for them.
struct Assumption {
  std::string reason;
  std::vector<FileChange> places;  ///< with their current values
};

/// The effect of an assumption: mean errors of the runs that use it in one of their files.
struct AssumptionEffect {
  Assumption assumption;
  int rows = 0;
  std::optional<double> less, as_it_is, more;  ///< MAPE with 0.7, 1 and 1.3 times the value; none: refused
};

/// The assumed numbers in the platforms, GPU profiles and stacks of the runs, except those about power,
/// prices and memory, which do not affect any throughput.
std::vector<Assumption> assumptions_of(const config::Catalogue& catalogue, const Validation& validation);

/// Predicts the runs of each assumption again with a smaller and a larger value, under one fit; returns
/// the effects, largest first. `as_predicted`: the options of the validation.
std::vector<AssumptionEffect> assumption_effects(const config::Catalogue& catalogue,
                                                 const Validation& validation, int parallel, Fit fit,
                                                 const PredictionOptions& as_predicted);

}  // namespace trainyard
