#pragma once
// How often to write checkpoints if times between faults are exponential, and how long a job then takes:
// closed forms for comparison with faulty_job.hpp.

#include "units/quantity.hpp"

namespace trainyard {

/// sqrt(2 write between): Young, "A first order approximation to the optimum checkpoint interval", CACM 1974.
Seconds young_interval(Seconds write, Seconds between_faults);

/// Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 2006, equation
/// 37: young (1 + 1/3 sqrt(write / (2 between)) + write / (18 between)) - write if write < 2 between; else
/// the time between faults.
Seconds daly_interval(Seconds write, Seconds between_faults);

struct CheckpointedJob {
  Seconds work;
  Seconds every;  ///< work between two checkpoints
  Seconds write;
  Seconds restart;
  Seconds between_faults;  ///< mean; every fault stops the job
};

/// Mean time until the job is done, exact for exponential times between faults: a stretch of length s takes
/// (e^(s/M) - 1) M e^(R/M), Daly 2006, equation 20; no checkpoint is written after the last stretch.
Seconds expected_wall(const CheckpointedJob& job);

}  // namespace trainyard
