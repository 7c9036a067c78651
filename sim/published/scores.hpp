#pragma once
// Errors of validated cases, by family (a line of the table) or over all, with the coverage and the errors of
// linear scaling; and selections of cases.

#include "published/validation.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::optional<double> coverage_of_all;  ///< the same, counting also cases without a reference, and layouts
                                          ///< of models whose sizes are not known
  std::optional<double> linear;  ///< MAPE of linear scaling from the fit's references, for the same rows
  std::optional<double>
      with_excluded;  ///< MAPE including those left out, with their errors under linear scaling
};

CaseErrors errors_of(const Validation& validation, Fit fit, const CaseSelection& selection = {});

/// Verdicts on the memory of runs.
struct MemoryVerdicts {
  int ran = 0, accepted = 0;    ///< runs, each experiment once, and those of them that are predicted to fit
  int failed = 0, refused = 0;  ///< runs out of memory, and those of them that are predicted not to fit

  void add(bool is_run, bool fits) {
    ++(is_run ? ran : failed);
    if (is_run == fits) ++(is_run ? accepted : refused);
  }
};

MemoryVerdicts verdicts_of(const Validation& validation);

/// Families with cases or missed rows, in the order of the rules that name them; those that count in the
/// totals first.
std::vector<const Family*> families_of(const Validation& validation);

/// Errors of different figures have no total.
bool has_totals(const Validation& validation);

/// Whether the memory of the runs is compared with what is known of it.
bool has_memory(const Validation& validation);

/// The least and the most that is predicted at the ends of a report's ranges; nothing without ends.
std::pair<std::optional<double>, std::optional<double>> ends_of(const PredictedCase& predicted);

/// Scored cases with a large error or always named by a rule, the worst first.
std::vector<const ScoredCase*> outliers_of(const Validation& validation, Fit fit);
bool is_always_named(const ScoredCase& scored);
std::string_view suspicion_of(const ScoredCase& scored);

/// Rows left out by a fit, including those that no fit uses, by reason.
std::map<std::string, int> left_out(const Validation& validation, Fit fit);

}  // namespace trainyard
