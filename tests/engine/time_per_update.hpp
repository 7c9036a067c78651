#pragma once
// The time per update, compared in the tests of training without plans.

#include "engine/training.hpp"

namespace trainyard::testing {

/// In seconds, over the measured updates.
inline double time_per_update(const TrainingRecord& record) {
  return (record.ended - record.begun).si() / static_cast<double>(record.updates);
}

}  // namespace trainyard::testing
