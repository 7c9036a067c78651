#pragma once
// `trainyard validate` about training runs: text and JSON.

#include "published/validate_training.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// Tables by family for each protocol asked for, runs that are far off with what is suspected, and what was
/// left out; before it every run, unless `only_families`.
std::string training_validation_table(const TrainingValidation& validation,
                                      const std::vector<FitProtocol>& asked, bool only_families);

/// Errors as ratios: overall, families (clean rows), partial (the same of rows clean in part), baselines,
/// rows, excluded, outliers; of one protocol.
nlohmann::ordered_json training_validation_json(const TrainingValidation& validation, FitProtocol protocol);

}  // namespace trainyard
