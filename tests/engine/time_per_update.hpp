#pragma once
// What the tests of training without plans compare: how long one update of the weights took.

#include "engine/training.hpp"

namespace trainyard::testing {

/// In seconds, over the measured updates.
inline double time_per_update(const TrainingRecord& record) {
  return (record.ended - record.begun).si() / static_cast<double>(record.updates);
}

}  // namespace trainyard::testing
