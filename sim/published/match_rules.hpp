#pragma once
// Which rule (rules/) concerns a published row.

#include "published/published_rows.hpp"
#include "rules/machine_rules.hpp"
#include "rules/row_pattern.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Whether a column contains any of the texts, ignoring case, and none of those that begin with '!'; an empty
/// list matches.
bool matches(const std::vector<std::string>& texts, const std::string& column);

bool matches(const RowPattern& pattern, const PublishedRow& row);

/// The first rule of a list that matches a row, null if there is none.
template <class Rule>
const Rule* first_match(const std::vector<Rule>& rules, const PublishedRow& row) {
  for (const Rule& rule : rules) {
    if (matches(rule.when, row)) return &rule;
  }
  return nullptr;
}

/// The memory in the name of a GPU: 32 of "V100-SXM2-32GB", 80 of "A100 - PCIe - 80 GB"; 0 if it states none.
double stated_memory(std::string_view gpu);

/// The first rule that matches a row and whose GPU has the memory that the row states, if it states one;
/// within 10 %, because a B200 is said to have 180 GB and 192. Null if there is none.
const MachineRule* machine_of(const std::vector<MachineRule>& rules, const PublishedRow& row);

}  // namespace trainyard
