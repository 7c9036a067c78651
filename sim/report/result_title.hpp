#pragma once
// The first lines of a report about one run.

#include "report/page.hpp"
#include "study/result.hpp"

namespace trainyard {

/// The experiment and what it simulates; the machine, the software and the batch.
void write_title(Page& out, const Result& result);

}  // namespace trainyard
