#pragma once
// Gradient accumulation in a profile: several forward and backward passes before one update.

#include "imports/intervals.hpp"
#include "imports/profile_work.hpp"

#include <cstddef>
#include <vector>

namespace trainyard {

struct MicroBatches {
  std::vector<Interval> launches;  ///< when the host launched each; together they cover all times
  bool has_sizes = true;           ///< the sizes of their gradients are known, and agree
};

/// The micro-batches of a step: passes that complete the same gradients, without updates between them. One if
/// its passes complete others. Throws InputError if gradients are completed as often as there are passes, but
/// not each by each of them.
MicroBatches micro_batches_of(const Profile& profile, const ProfileWork& work, int step);

/// The error of a step whose gradients accumulate over micro-batches that cannot be told apart.
[[noreturn]] void refuse_micro_batches(const Profile& profile, const ProfileWork& work, int step,
                                       std::size_t count);

/// How often backward work follows forward work in a step.
int backward_passes_of(const Profile& profile, const ProfileWork& work, int step);

}  // namespace trainyard
