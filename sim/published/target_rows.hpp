#pragma once
// Published rows about trainings to a target: tables with a row for each result of MLPerf Training. Rows with
// times to train have the machine; rows with joules name the result that they belong to.

#include "published/published_rows.hpp"
#include "workload/csv.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Whether a file's header has the columns of such rows.
bool is_of_targets(const CsvRow& header);

/// The results of a round are of this year: the first round has results of 2018. Empty if it is unknown.
std::string year_of_round(std::string_view round);

/// Copies machine and software into the rows with joules from the result that they belong to, among these
/// rows and then `lookup`: the same round, system and benchmark, nodes, batch and time as far as stated, and
/// the same submitter. Without one of the submitter, the only such result of another counts if both state the
/// time: results that were submitted again are in the tables once.
void complete_energy_rows(std::vector<PublishedRow>& rows, const std::vector<PublishedRow>& lookup);

}  // namespace trainyard
