#pragma once
// The part of a run that `compare` needs, read from a summary.json or made of a run simulated just now: its
// figures, the parts of the step time, and the experiment as it was resolved.

#include "run/figures.hpp"
#include "run/step_parts.hpp"
#include "units/quantity.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A collective with the time for which it was exposed.
struct NamedExposure {
  std::string collective;  ///< "bucket 0"
  std::string operation;   ///< "all_reduce"
  std::string purpose;     ///< "gradients"
  Seconds exposed;
};

struct RunSummary {
  std::span<const Figure> table = trainyard::figures();
  Figures figures;  ///< those of the table
  std::vector<PartTime> parts;
  std::vector<NamedExposure> collectives;
  /// path -> value, as experiment.resolved.yaml has them
  std::map<std::string, std::string> experiment_keys;
};

/// A figure that is a text, empty where there is none; one that is a number, which there has to be.
std::string text_of(const RunSummary& run, std::string_view field);
double number_of(const RunSummary& run, std::string_view field);

/// The step time and the samples per second: always there.
Seconds step_time(const RunSummary& run);
double throughput(const RunSummary& run);

}  // namespace trainyard
