#pragma once
// Published rows with the rules for their machines, models and software: the input of every validation and
// fit. Runs and curves point into this data, so each holds a share of it.

#include "published/published_rows.hpp"
#include "rules/machine_rules.hpp"
#include "rules/run_rules.hpp"

#include <vector>

namespace trainyard {

struct PublishedData {
  MachineRules machine_rules;
  RunRules run_rules = {};
  std::vector<PublishedRow> rows;
  std::vector<PublishedRow> lookup = {};  ///< further rows for runs to fit to, if `rows` have none
};

}  // namespace trainyard
