#pragma once
// What the summary says of a run of many updates.

#include "report/page.hpp"
#include "run/run.hpp"

namespace trainyard {

/// "k_sync, k = 6" or "ssp, bound 2".
std::string rule_in_words(const UpdateSettings& settings);

/// "; 12.1 to 12.6 ms in 5 repeats" where there are several.
std::string spread_in_words(const Updates& updates);

/// What the ranks did with the time.
void write_activities(Page& out, const Updates& updates);

/// How often there is an update, and how old its gradients are.
void write_updates(Page& out, const Updates& updates);

}  // namespace trainyard
