#pragma once
// The summary's text about a job with faults.

#include "report/page.hpp"
#include "run/run.hpp"

#include <string>

namespace trainyard {

/// "83.1 % of the throughput (95 % confidence: 80.2 % to 86.0 %)": the range that contains 95 % of such
/// means, if there are several runs.
std::string goodput_in_words(const JobReport& faults);

/// Requires a result with `faults`.
void write_faults(Page& out, const Run& run);

}  // namespace trainyard
