#pragma once
// The sections of a plan's page. Those about the best plan need one.

#include "document/document.hpp"
#include "report/plan_report.hpp"

namespace trainyard {

/// How the search went, in numbers, as a chart, and what was searched.
void add_plan_search(doc::Document& page, const PlanAnswer& answer);

/// The best and the next layouts, and why these lose.
void add_next_plans(doc::Document& page, const PlanAnswer& answer, const PlanDetails& details);

/// The goal's figure by tensor ranks and stages; nothing for a map of one place.
void add_plan_map(doc::Document& page, const PlanAnswer& answer);

/// The best of each group; nothing for one group.
void add_plan_groups(doc::Document& page, const PlanAnswer& answer);

}  // namespace trainyard
