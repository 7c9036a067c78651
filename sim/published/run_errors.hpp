#pragma once
// Summarizes errors of validated training runs, by family (a line of the table) or over all, together with
// the coverage and with the errors of linear scaling for the runs left out.

#include "published/validate_training.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// The runs to summarize.
struct RunSelection {
  std::optional<std::string> family = {};  ///< otherwise all families that count in the totals
  std::optional<std::string> stack = {};   ///< by name; otherwise all
  bool is_incomplete = false;  ///< only rows whose column clean is partial; otherwise only complete ones
  bool leave_out_implausible = true;  ///< by R7 and R8, which look at outcomes
};

/// Errors of several runs, as ratios.
struct RunErrors {
  int rows = 0;
  std::optional<double> mape, median, p90, worst;
  std::optional<double> bias;      ///< mean of predicted / measured - 1
  std::optional<double> coverage;  ///< scored part of the runs that should be scored and have the reference
                                   ///< run that R4 requires
  std::optional<double> coverage_of_all;  ///< the same, counting also runs whose series has no row to fit to
  std::optional<double> linear;         ///< MAPE of linear scaling from the fit's reference run, for the same
                                        ///< rows
  std::optional<double> with_excluded;  ///< MAPE including the runs left out, with their errors under linear
                                        ///< scaling
};

RunErrors errors_of(const TrainingValidation& validation, FitKind fit, const RunSelection& selection);

}  // namespace trainyard
