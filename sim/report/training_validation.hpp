#pragma once
// Output of `trainyard validate` about training runs: text and JSON.

#include "published/validate_training.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// Tables by family for each fit requested, runs with large errors and their suspected causes, and the
/// rows left out; all of it after a list of every run, unless `only_families`.
std::string training_validation_table(const TrainingValidation& validation, const std::vector<FitKind>& asked,
                                      bool only_families, const PrintStyle& style = {});

/// Errors as ratios: overall, families (complete rows), partial (the same for rows whose column clean is
/// partial), baselines, rows, excluded, outliers; for one fit.
nlohmann::ordered_json training_validation_json(const TrainingValidation& validation, FitKind fit);

}  // namespace trainyard
