#pragma once
// Errors of validated cases, by family (a line of the table) or over all, with the coverage and the errors of
// linear scaling.

#include "published/validation.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// The cases to summarize.
struct CaseSelection {
  std::optional<std::string> family = {};  ///< otherwise all families that count in the totals
  std::optional<std::string> stack = {};   ///< by name; otherwise all
  std::optional<CaseFigure> figure = {};   ///< otherwise all but figures of memory
  bool is_incomplete = false;  ///< only rows whose column clean is partial; otherwise only complete ones
  bool leave_out_implausible = true;  ///< by R7 and R8, which look at outcomes
};

/// Errors of several cases, as ratios.
struct CaseErrors {
  int rows = 0;
  std::optional<double> mape, median, p90, worst;
  std::optional<double> bias;      ///< mean of predicted / measured - 1
  std::optional<double> coverage;  ///< scored part of the cases that should be scored and have the references
                                   ///< that R4 requires
  std::optional<double> coverage_of_all;  ///< the same, counting also cases without a reference
  std::optional<double> linear;  ///< MAPE of linear scaling from the fit's references, for the same rows
  std::optional<double>
      with_excluded;  ///< MAPE including those left out, with their errors under linear scaling
};

CaseErrors errors_of(const Validation& validation, Fit fit, const CaseSelection& selection = {});

/// Verdicts on the memory of runs.
struct MemoryVerdicts {
  int ran = 0, accepted = 0;    ///< runs, each experiment once, and those of them that are predicted to fit
  int failed = 0, refused = 0;  ///< runs out of memory, and those of them that are predicted not to fit
};

MemoryVerdicts verdicts_of(const Validation& validation);

}  // namespace trainyard
