#pragma once
// The summary of each named group of a sweep: words, a table, CSV and JSON.

#include "document/document.hpp"
#include "sweep/group_findings.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// "33 points of model=bert_base, bert_large; efficiency on most GPUs 72.1 % (31.0 to 95.0 %); ...": how far
/// the group scales, and the keys that change its throughput most.
std::string finding_in_words(const GroupFinding& finding);

/// For each value of a key, in words, and each group below it the effect on throughput, efficiency and
/// memory.
doc::Table effects_table(const std::vector<GroupFinding>& findings);

/// groups.csv: for each group and value of a key the ratios of throughput and memory and the difference of
/// the efficiencies, each with median and ends; empty if the sweep has no groups.
std::string groups_csv(const std::vector<GroupFinding>& findings);

/// [{group, members, points, scaling_efficiency, memory_utilization, effects: [{key, value, first, pairs,
/// throughput_ratio, efficiency_difference, memory_ratio}]}], each quantity {median, low, high} or null.
nlohmann::ordered_json groups_json(const std::vector<GroupFinding>& findings);

}  // namespace trainyard
