#pragma once
// Selections of validated cases that the text and the JSON of `trainyard validate` share.

#include "published/memory_outcomes.hpp"
#include "published/scores.hpp"
#include "published/validation.hpp"
#include "units/print_style.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

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

/// A line for each reason and its number of rows.
std::string reasons_text(const std::map<std::string, int>& reasons, const PrintStyle& style);

/// How many verdicts are right; of published batches.
MemoryVerdicts counts_of(const std::vector<const MemoryOutcome*>& outcomes);

/// By framework and precision.
std::map<std::pair<std::string, std::string>, std::vector<const MemoryOutcome*>> outcomes_by_software(
    const MemoryValidation& validation);
std::vector<const MemoryOutcome*> all_outcomes(const MemoryValidation& validation);

}  // namespace trainyard
