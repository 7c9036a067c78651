#pragma once
// Reads published rows about trainings to a target: tables with a row for each result of MLPerf Training.
// Rows with times to train have the machine; rows with joules name the result that they belong to.

#include "published/published_rows.hpp"
#include "workload/csv.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Whether a file's header has the columns of such rows.
bool is_of_targets(const CsvRow& header);

/// The rows of a file called `name`. Errors are added to `problems`.
std::vector<PublishedRow> target_rows(const std::string& name, const CsvFile& file, CsvProblems& problems);

/// Copies machine and software into the rows with joules from the result that they belong to (same round,
/// system and benchmark, and submitter if there are several), among these rows and then `others`.
void complete_energy_rows(std::vector<PublishedRow>& rows, const std::vector<PublishedRow>& others);

}  // namespace trainyard
