#pragma once
// What the summary says of a job in which something fails.

#include "report/page.hpp"
#include "study/result.hpp"

namespace trainyard {

/// The result has `faults`.
void write_faults(Page& out, const Result& result);

}  // namespace trainyard
