#pragma once
// The summary for people: the job, its speed, the parts of its time, its limit, and the sources of the
// numbers. As wide as the page, plain ASCII except for names that are not.

#include "run/run.hpp"
#include "units/print_style.hpp"

#include <string>

namespace trainyard {

std::string summary_text(const Run& run, const PrintStyle& style = {});

/// The part of it about learning, for a run that learns: the job, the pace of its updates, what was learnt by
/// when, and the basis of both.
std::string learning_text(const Run& run, const PrintStyle& style = {});

}  // namespace trainyard
