#pragma once
// The summary for people: what ran, how fast, where the time goes, what limits it, and what the numbers rest
// on. At most 100 columns wide, plain ASCII but for names that are not.

#include "run/run.hpp"

#include <string>

namespace trainyard {

/// `colour`: with ANSI escapes, for a terminal.
std::string summary_text(const Run& run, bool colour);

}  // namespace trainyard
