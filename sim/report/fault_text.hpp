#pragma once
// What the summary says of a job in which something fails.

#include "report/page.hpp"
#include "run/run.hpp"

#include <string>

namespace trainyard {

/// "83.1 % of the throughput (80.2 % to 86.0 %)": between these 95 % of such means lie, where there are
/// several runs.
std::string goodput_in_words(const JobReport& faults);

/// The result has `faults`.
void write_faults(Page& out, const Run& run);

}  // namespace trainyard
