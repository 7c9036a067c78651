#pragma once
// plan.html: the best plan with its reasons, a map of the layouts, the progress of the search, the next best
// and why they lose, as one page for a browser without a network.

#include "html/report_html.hpp"
#include "report/plan_report.hpp"

#include <string>

namespace trainyard {

/// The whole file. The text depends only on the arguments. `origin`: of the best plan's experiment; without
/// one only the version.
std::string plan_html(const PlanAnswer& answer, const PlanDetails& details, const PageOrigin& origin);

}  // namespace trainyard
