#pragma once
// Gradient accumulation in a profile: several forward and backward passes before one update.

#include "imports/intervals.hpp"
#include "imports/profile_work.hpp"

#include <vector>

namespace trainyard {

/// When the host launched each micro-batch of a step, which together cover all times; one if the step has one
/// backward pass that completes gradients, or several with updates between them. Throws InputError if it has several passes that complete
/// other gradients, which no trace of one micro-batch stands for.
std::vector<Interval> micro_batches_of(const Profile& profile, const ProfileWork& work, int step);

/// How often backward work follows forward work in a step.
int backward_passes_of(const Profile& profile, const ProfileWork& work, int step);

}  // namespace trainyard
