#pragma once
// Output of `trainyard validate` about training: cases of whatever kind as text, JSON and CSV.

#include "published/memory_outcomes.hpp"
#include "published/validation.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// For each fit a table by family, the coverage of the intervals, cases with large errors and their suspected
/// causes, and the rows left out; runs whose ranks share a model also have pairs and memory. All of it after
/// a list of every case, unless `only_families`.
std::string case_validation_text(const Validation& validation, const std::vector<Fit>& fits,
                                 bool only_families, const PrintStyle& style = {});

/// The same with one fit; errors are ratios. workloads/published/README.md has the fields.
nlohmann::ordered_json case_validation_json(const Validation& validation, Fit fit);

/// The rows of such JSON, of several kinds, as CSV; cells are empty where JSON has null.
std::string validated_cases_csv(const std::vector<nlohmann::ordered_json>& validations);

/// Verdicts against published outcomes: a line for each framework and precision, the totals, and every wrong
/// verdict.
std::string memory_outcomes_text(const MemoryValidation& validation, const PrintStyle& style = {});
nlohmann::ordered_json memory_outcomes_json(const MemoryValidation& validation);

}  // namespace trainyard
