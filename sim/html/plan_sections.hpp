#pragma once
// The sections of plan.html, each the content below its title; empty if they do not apply to the plan.

#include "html/html.hpp"
#include "report/plan_report.hpp"

namespace trainyard {

/// The best plan, its step with the expected error, its costs, ties, and the command that runs it.
Html plan_answer_html(const PlanAnswer& answer, const PlanDetails& details);

/// Memory, bubble and network of the best plan.
Html plan_binds_html(const PlanAnswer& answer, const PlanDetails& details);

/// The goal's figure by tensor ranks and stages, as a heat map.
Html plan_map_html(const PlanAnswer& answer);

/// The best step so far and the lower bound of all that is open, over the simulated layouts in the order of
/// the search. The group of the best plan; without one the first in which something was simulated.
Html plan_progress_html(const PlanAnswer& answer);

/// The next best layouts, and by what they lose.
Html plan_next_html(const PlanAnswer& answer, const PlanDetails& details);

/// The best of each group and the Pareto front; of several groups.
Html plan_groups_html(const PlanAnswer& answer);

/// The best plan of machines that differ a little.
Html plan_changes_html(const PlanAnswer& answer, const PlanDetails& details);

/// What was asked for, the space, and what became of every layout.
Html plan_search_html(const PlanAnswer& answer);

}  // namespace trainyard
