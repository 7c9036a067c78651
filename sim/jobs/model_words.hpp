#pragma once
// Words of other tools for the parts of a decoder: activations, positions, dropouts, the blocks of MaxText.

#include "jobs/meaning.hpp"

namespace trainyard::jobs {

/// Gives these words their keys of the experiment; a word that is not known is named in the account.
void complete_model_words(JobDraft& draft, Tool tool);

}  // namespace trainyard::jobs
