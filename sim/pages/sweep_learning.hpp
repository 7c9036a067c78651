#pragma once
// The charts of a sweep whose points learn.

#include "document/document.hpp"
#include "sweep/sweep_result.hpp"

namespace trainyard {

/// Adds the final loss of each point over the time of an update, and over the time to the target if some
/// point reaches it; the front of the best points is marked.
void add_learning_charts(doc::Section& section, const SweepResult& result);

}  // namespace trainyard
