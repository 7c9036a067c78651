#pragma once
// `trainyard validate --limit`: which mean errors a limit is held against, and what is said where it is
// missed.

#include "published/validate.hpp"
#include "published/validate_training.hpp"

namespace trainyard {

/// Of collectives the mean over curves from 1 MiB on, of training the mean over the clean runs of claimed
/// families under `protocol`; `limit` is a ratio. Throws LimitMissed if either is above it, if rows of a kind
/// were predicted and none of them has a part in its mean, or if nothing was scored at all.
void check_limit(const Validation& collectives, const TrainingValidation& training, FitProtocol protocol,
                 double limit);

}  // namespace trainyard
