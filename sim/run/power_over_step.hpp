#pragma once
// Power over the time of a steady step, by the law of energy.hpp. Its integral is the energy of the step.
// Made from the timeline when an output asks for it.

#include "run/run.hpp"

#include <vector>

namespace trainyard {

/// Constant from `start` to `end`.
struct PowerSpan {
  Seconds start;
  Seconds end;
  Watts power;
};

/// The power of a rank's GPU, with the rank's share of the nodes' other power (all of it over the number of
/// ranks), from 0 to the end of the step. While a kernel is slowed, or a pass of a pipeline waits between its
/// kernels, the power is the mean of that time. Empty if the energy is unknown, or the timeline lacks the
/// rank; for runs of many updates, whose steps differ.
std::vector<PowerSpan> power_over_step(const Run& run, Rank rank);

/// The mean power of all ranks' GPUs and their nodes in `slices` equal parts of the step; empty under the
/// same conditions. A rank stands for all that run its program.
std::vector<PowerSpan> power_of_job(const Run& run, int slices);

}  // namespace trainyard
