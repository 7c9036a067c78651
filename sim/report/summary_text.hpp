#pragma once
// The summary for people: the job, its speed, the parts of its time, its limit, and the sources of the
// numbers. At most 100 columns wide, plain ASCII except for names that are not.

#include "run/run.hpp"

#include <string>

namespace trainyard {

/// `colour`: with ANSI escapes, for a terminal.
std::string summary_text(const Run& run, bool colour);

/// The part of it about learning, for a run that learns: the job, the pace of its updates, what was learnt by
/// when, and the basis of both.
std::string learning_text(const Run& run, bool colour);

}  // namespace trainyard
