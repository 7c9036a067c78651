#pragma once
// Published training runs and their predictions: decides which rows count and to which runs each may be
// fitted; run_errors.hpp summarizes the errors. The rules R1 to R8 named here are defined in
// workloads/published/README.md.

#include "accuracy/published_errors.hpp"
#include "config/catalogue.hpp"
#include "published/linear_scaling.hpp"
#include "published/predict_series.hpp"
#include "published/published_run.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The result of a fit for a run.
struct Verdict {
  bool is_asked = false;  ///< the fit applies to the run, and the run to which it fits exists (R4)
  std::string excluded;   ///< why it is not scored; empty: scored
  std::string outcome;    ///< the rule about outcomes (R7, R8) that leaves it out; usually empty
  bool is_rounded =
      false;  ///< R6: the run, or the run used for fitting, is printed too coarsely to be judged the worst
};

/// A run to predict, with its results.
struct ScoredRun {
  PublishedRun run;
  const FamilyRule* family = nullptr;  ///< null: no rule matches
  PredictedRun predicted;
  ByFit<Verdict> verdicts;
  const OutlierRule* outlier = nullptr;  ///< the suspected cause if the error is large; null: none

  [[nodiscard]] const Verdict& verdict(FitKind fit) const;
  /// Whether the fit has an error for it.
  [[nodiscard]] bool is_scored(FitKind fit) const;
  /// Whether that error is in the totals: scored, not left out by a rule about outcomes, and of a family that
  /// counts.
  [[nodiscard]] bool counts(FitKind fit) const;
  /// Predicted / measured - 1, for throughputs. Requires that the fit scores the run.
  [[nodiscard]] double error(FitKind fit) const;
};

/// A throughput for which no experiment could be made; it lowers coverage.
struct MissedRow {
  const PublishedRow* row = nullptr;
  const FamilyRule* family = nullptr;  ///< null: no rule matches
  LinearErrors linear = {};
};

struct TrainingValidation {
  std::shared_ptr<const PublishedData> data;
  std::vector<ScoredRun> runs;          ///< in the order of the rows
  std::map<std::string, int> excluded;  ///< the other rows, by reason
  std::vector<MissedRow> missed;
  std::shared_ptr<const SoftwareFit> software;  ///< if the fit `software` was requested
  /// The errors from which `run` takes its intervals; null for `1node`, and where none are installed.
  ByFit<std::shared_ptr<const PublishedErrors>> shipped_errors = {};
};

/// False for a row that may be fitted to, or whose source is incomplete or contradictory.
bool is_to_be_predicted(const PublishedRow& row);

/// Series are predicted in `parallel` child processes.
TrainingValidation validate_training(const config::Catalogue& catalogue,
                                     std::shared_ptr<const PublishedData> data, int parallel,
                                     const PredictionOptions& options = {});

/// Runs with a larger error are named with the suspected cause.
inline constexpr double far_off_run = 0.2;

}  // namespace trainyard
