#pragma once
// Published measurements of training and their predictions: which rows count, which references each may be
// fitted to, and what is left out. scores.hpp summarizes the errors. workloads/published/README.md defines
// the rules R1 to R8 and L1 to L7 named here.

#include "accuracy/published_errors.hpp"
#include "config/catalogue.hpp"
#include "published/case.hpp"
#include "published/predict_cases.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Rows that are read by the same rules.
enum class RowKind { training, layouts, targets, reports };

std::vector<Fit> fits_of(RowKind kind);

/// The kind's own fit where another kind's is asked for: layouts and trainings to a target have one
/// reference, and reports are predicted as `run` does it.
Fit fit_for(RowKind kind, Fit asked);

/// The result of a fit for a case.
struct Verdict {
  bool is_asked = false;      ///< the fit applies to the case, and it has a reference (R4)
  std::string excluded = {};  ///< why it is not scored; empty: scored
  std::string outcome = {};   ///< the rule about outcomes (R7, R8) that leaves it out; usually empty
  bool is_rounded = false;    ///< R6: it or a reference is printed too coarsely to be judged the worst
};

/// The line of the table to which a case belongs.
struct Family {
  std::string name;
  std::string not_in_totals;  ///< why it does not count in the totals and their coverage; empty: it counts
};

/// A case with its results.
struct ScoredCase {
  Case of = {};
  const Family* family = nullptr;  ///< null: no rule matches
  PredictedCase predicted = {};
  ByFit<Verdict> verdicts = {};
  const OutlierRule* outlier = nullptr;  ///< the suspected cause if the error is large; null: none
  bool is_repeated = false;              ///< an earlier case is the same experiment

  /// The source does not say everything.
  [[nodiscard]] bool is_incomplete() const { return of.row->clean == "partial"; }
  /// Whether the fit has an error for it.
  [[nodiscard]] bool is_scored(Fit fit) const;
  /// Whether that error is in the totals: scored, not left out by a rule about outcomes, and of a family that
  /// counts.
  [[nodiscard]] bool counts(Fit fit) const;
  /// Predicted / measured - 1. Requires that the fit scores the case.
  [[nodiscard]] double error(Fit fit) const;
};

/// A measurement for which no experiment could be made; it lowers coverage.
struct MissedRow {
  const PublishedRow* row = nullptr;
  const Family* family = nullptr;            ///< null: no rule matches
  bool is_eligible = true;                   ///< false: no known sizes, or no layout
  ByFit<std::optional<double>> linear = {};  ///< error of linear scaling
};

struct Validation {
  RowKind kind{};
  GroupLeftOut left_out = GroupLeftOut::series;
  std::shared_ptr<const PublishedData> data = {};
  std::vector<std::unique_ptr<const Family>> families = {};  ///< in the order of the rules
  std::vector<ScoredCase> cases = {};                        ///< in the order of the rows
  std::map<std::string, int> excluded = {};                  ///< the other rows, by reason
  std::vector<MissedRow> missed = {};
  std::shared_ptr<const SoftwareFit> software = {};  ///< if the fit `software` was requested for training
  /// The errors from which `run` takes its intervals; null where none are installed.
  ByFit<std::shared_ptr<const PublishedErrors>> shipped_errors = {};
  /// For training: the errors of layouts, which runs with recomputed activations have.
  ByFit<std::shared_ptr<const PublishedErrors>> shipped_layout_errors = {};
};

/// False for a row that may be fitted to, or whose source is incomplete or contradictory.
bool is_to_be_predicted(const PublishedRow& row);

/// Series are predicted in `parallel` child processes.
Validation validate_rows(const config::Catalogue& catalogue, RowKind kind,
                         std::shared_ptr<const PublishedData> data, int parallel,
                         const PredictionOptions& options);

/// Cases with a larger error are named with the suspected cause.
inline constexpr double far_off_run = 0.2;

}  // namespace trainyard
