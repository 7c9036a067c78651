#pragma once
// A plan as a document: the best layout and why it is the best, the next ones, the map of all, the groups,
// and how it was found.

#include "document/document.hpp"
#include "report/page_origin.hpp"
#include "report/plan_report.hpp"

namespace trainyard {

doc::Document plan_document(const PlanAnswer& answer, const PlanDetails& details, const PageOrigin& origin);

}  // namespace trainyard
