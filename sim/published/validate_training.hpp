#pragma once
// Published training runs against their predictions: which rows count, and what they may be fitted to;
// run_errors.hpp puts their errors together. workloads/published/README.md states the rules R1 to R8 meant
// here.

#include "config/catalogue.hpp"
#include "published/linear_scaling.hpp"
#include "published/predict_series.hpp"
#include "published/published_run.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// What a protocol makes of a run.
struct Verdict {
  bool is_asked = false;  ///< the run is one that the protocol is for, and what it fits to is there (R4)
  std::string excluded;   ///< why it is not scored; empty: it is
  std::string outcome;    ///< which rule about outcomes (R7, R8) leaves it out; usually empty
  bool is_rounded =
      false;  ///< R6: it, or what it is fitted to, is printed too coarsely to judge the worst by it
};

/// A run to be predicted and what came of it.
struct ScoredRun {
  PublishedRun run;
  const FamilyRule* family = nullptr;  ///< null: no rule knows one
  PredictedRun predicted;
  std::array<Verdict, protocol_count> verdicts;  ///< by FitProtocol
  const OutlierRule* outlier = nullptr;          ///< what is suspected should it be far off; null: nothing

  [[nodiscard]] const Verdict& verdict(FitProtocol protocol) const;
  /// Whether the protocol has an error for it.
  [[nodiscard]] bool is_scored(FitProtocol protocol) const;
  /// Whether that error is in the totals: scored, left out by no rule about outcomes, of a claimed family.
  [[nodiscard]] bool counts(FitProtocol protocol) const;
  /// Predicted / measured - 1 of throughputs. Only where the protocol scores the run.
  [[nodiscard]] double error(FitProtocol protocol) const;
};

/// A throughput to be predicted that no experiment could be made of: what coverage is short of.
struct MissedRow {
  const PublishedRow* row = nullptr;
  const FamilyRule* family = nullptr;  ///< null: no rule knows one
  LinearErrors linear = {};
};

struct TrainingValidation {
  std::vector<ScoredRun> runs;          ///< in the order of the rows
  std::map<std::string, int> excluded;  ///< the other rows, by reason
  std::vector<MissedRow> missed;
  const RunRules* rules = nullptr;
};

/// `lookup`: rows among which fitting rows are sought where `rows` have none. Keeps pointers to all
/// arguments. Series are predicted in `parallel` child processes.
TrainingValidation validate_training(const config::Catalogue& catalogue,
                                     const std::vector<PublishedRow>& rows,
                                     const std::vector<PublishedRow>& lookup, const MachineRules& machines,
                                     const RunRules& rules, int parallel,
                                     const PredictionOptions& options = {});

/// Runs beyond this error are named with what is suspected.
inline constexpr double far_off_run = 0.2;

}  // namespace trainyard
