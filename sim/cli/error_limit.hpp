#pragma once
// `trainyard validate --limit`: selects the mean errors to check against a limit, and reports a miss.

#include "published/validate.hpp"
#include "published/validate_training.hpp"

namespace trainyard {

/// For collectives, the mean over curves from 1 MiB up; for training under `fit`, the mean over complete
/// runs of families that count in the totals. `limit` is a ratio. Throws LimitMissed if either mean is above
/// it, if rows of a kind were predicted but none of them is part of the mean, or if nothing was scored at
/// all.
void check_limit(const Validation& collectives, const TrainingValidation& training, FitKind fit,
                 double limit);

}  // namespace trainyard
