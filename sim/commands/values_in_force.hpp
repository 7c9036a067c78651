#pragma once
// The value of a key that a run's experiment does not set: that of the file which it names, or the default.

#include "config/catalogue.hpp"
#include "experiment/resolved_experiment.hpp"
#include "run/run_summary.hpp"

#include <memory>
#include <optional>
#include <string>

namespace trainyard {

/// Reads each file that a run names at most once. Files are read as they are now: those of a saved run may
/// have changed since.
class ValuesInForce {
public:
  ValuesInForce(const config::Catalogue& catalogue, const RunSummary& run);
  /// Of an experiment that is not simulated.
  ValuesInForce(const config::Catalogue& catalogue, const ResolvedExperiment& resolved);
  ~ValuesInForce();

  /// The value that `path` had in the run ("platform.fabric.nic"), as text; none if nothing sets the key, or
  /// the file that would cannot be found.
  [[nodiscard]] std::optional<std::string> value(const std::string& path);

private:
  class Files;
  std::unique_ptr<Files> files_;
};

}  // namespace trainyard
