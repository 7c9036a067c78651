#pragma once
// Recomputation in the backward pass by the words of other tools.

#include "jobs/draft.hpp"

namespace trainyard::jobs {

/// The key parallelism.recompute: full, selective or none, with the differences to what the tool would do.
void take_recomputation(JobDraft& draft);

}  // namespace trainyard::jobs
