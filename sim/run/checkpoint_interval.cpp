#include "run/checkpoint_interval.hpp"

#include <cmath>

namespace trainyard {

Seconds young_interval(Seconds write, Seconds between_faults) {
  return Seconds{std::sqrt(2 * write.si() * between_faults.si())};
}

Seconds daly_interval(Seconds write, Seconds between_faults) {
  if (write >= 2 * between_faults) return between_faults;
  const double ratio = write / (2 * between_faults);
  return young_interval(write, between_faults) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - write;
}

Seconds expected_wall(const CheckpointedJob& job) {
  const auto stretch = [&](Seconds length) {
    return std::expm1(length / job.between_faults) * std::exp(job.restart / job.between_faults) *
           job.between_faults;
  };
  const double whole = std::ceil(job.work / job.every) - 1;
  return whole * stretch(job.every + job.write) + stretch(job.work - whole * job.every);
}

}  // namespace trainyard
