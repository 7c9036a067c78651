#pragma once
// Optimizers by the words of other tools.

#include "jobs/draft.hpp"
#include "jobs/meaning.hpp"

namespace trainyard::jobs {

/// The key `optimizer`: ours by its own names and those of other tools, adam with a difference where a word
/// means none of ours.
void take_optimizer(JobDraft& draft, Tool tool);

}  // namespace trainyard::jobs
