#pragma once
// Rows that no rule recognises: their machine or their software has to be added to the rules.

#include "config/diagnostic.hpp"
#include "published/published_rows.hpp"

#include <vector>

namespace trainyard {

/// One error for each word among `rows` that the form of a table does not know, and for each machine and
/// framework, with `also_models` each model, that no rule recognises, at its first row; collectives need a
/// machine only. Rows that are not to be predicted, that a rule excludes or that measure something else are
/// left out.
std::vector<Diagnostic> missing_rules(const std::vector<PublishedRow>& rows, const PublishedData& collectives,
                                      const PublishedData& training, bool also_models);

}  // namespace trainyard
