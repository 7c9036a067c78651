#pragma once
// Values that a tool takes where a job leaves them out, each with its source.

#include "jobs/meaning.hpp"

namespace trainyard::jobs {

/// Assumes the tool's defaults of batches, lengths, recomputation, software and clipping.
void assume_tool_defaults(JobDraft& draft, Tool tool);

/// Assumes the parts that the tool builds where a job states some sizes of a model and leaves the rest out.
void assume_default_model(JobDraft& draft, Tool tool);

}  // namespace trainyard::jobs
