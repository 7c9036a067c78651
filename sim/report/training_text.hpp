#pragma once
// The summary's text about a run of many updates.

#include "report/page.hpp"
#include "run/run.hpp"

namespace trainyard {

/// "k_sync, k = 6" or "ssp, bound 2".
std::string rule_in_words(const UpdateSettings& settings);

/// "; 12.1-12.6 ms (5 repeats, 93.8 % confidence)" if there are several.
std::string spread_in_words(const Updates& updates);

/// The ranks' activities, by time.
void write_activities(Page& out, const Updates& updates);

/// How often there is an update, and the age of its gradients.
void write_updates(Page& out, const Updates& updates);

}  // namespace trainyard
