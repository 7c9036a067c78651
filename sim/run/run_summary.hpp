#pragma once
// The part of a run that `compare` needs, read from a summary.json or made from a run just simulated: its
// figures, the parts of the step time, and the resolved experiment.

#include "experiment/prediction_error.hpp"
#include "run/figures.hpp"
#include "run/step_parts.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A collective and its exposed time.
struct NamedExposure {
  std::string collective;  ///< "bucket 0"
  std::string operation;   ///< "all_reduce"
  std::string purpose;     ///< "gradients"
  Seconds exposed;
};

/// An assumed input, and the throughput with it at each end of its range over the run's.
struct AssumedEffect {
  std::string key, value;
  double at_low = 1, at_high = 1;
};

struct RunSummary {
  std::span<const Figure> table = trainyard::figures();
  Figures figures;  ///< in the table's order
  std::vector<PartTime> parts;
  std::vector<NamedExposure> collectives;
  /// maps path to value, as in experiment.resolved.yaml
  std::map<std::string, std::string> experiment_keys;
  std::vector<AssumedEffect> assumed;  ///< those that count in its expected error
  /// Which published runs are comparable, and under which fit; or why that is unknown.
  Known<PredictedJob> predicted_job =
      unknown("the summary does not say to which published runs it is comparable");
};

/// A figure that is a text, empty if missing; one that is a number, which must exist.
std::string text_of(const RunSummary& run, std::string_view field);
double number_of(const RunSummary& run, std::string_view field);

/// The step time and the samples per second, which always exist.
Seconds step_time(const RunSummary& run);
double throughput(const RunSummary& run);

}  // namespace trainyard
