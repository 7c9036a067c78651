#pragma once
// Rows that no rule recognises: their machine or their software has to be added to the rules.

#include "config/diagnostic.hpp"
#include "published/published_data.hpp"

#include <vector>

namespace trainyard {

/// One error for each machine and each framework that no rule recognises, at its first row. Rows that are not
/// to be predicted, that a rule excludes or that measure something else are left out. The rows are about
/// training runs; for collectives see missing_machines().
std::vector<Diagnostic> missing_rules(const PublishedData& training);

/// Models without a rule, as above.
std::vector<Diagnostic> missing_models(const PublishedData& training);

/// Machines without a rule among rows about collectives, which need nothing else.
std::vector<Diagnostic> missing_machines(const PublishedData& collectives);

/// One error for each word that the form of a table does not know, at its first row.
std::vector<Diagnostic> unknown_words(const std::vector<PublishedRow>& rows);

}  // namespace trainyard
