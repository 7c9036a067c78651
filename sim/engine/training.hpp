#pragma once
// Replays many updates of a training job whose workers need not keep step: draws how long their steps take,
// lets the update rule decide who waits for whom, and records what came of it. Without a network: gradients
// and parameters take no time.

#include "schedule/step_times.hpp"
#include "strategy/update_rule.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <vector>

namespace trainyard {

struct TrainingOptions {
  std::int64_t warmup = 0;    ///< updates before the measurement begins
  std::int64_t measured = 1;  ///< updates that are measured
};

/// Of one worker while measured.
struct WorkerRecord {
  Seconds computing;           ///< whatever became of it
  Seconds wasted;              ///< the part of it that was cancelled
  Seconds waiting;             ///< for the update rule
  std::int64_t gradients = 0;  ///< of this worker, in updates
};

struct TrainingRecord {
  Seconds begun;  ///< date of the last update of the warm-up; 0 without one
  Seconds ended;  ///< date of the last measured update
  std::int64_t updates = 0;
  std::int64_t gradients = 0;           ///< in these updates; each of `push_every` steps
  std::vector<std::int64_t> staleness;  ///< gradients by how many updates old they were: [1] were fresh
  std::int64_t lead = 0;                ///< steps that a worker was ahead of the slowest, at most
  std::vector<WorkerRecord> workers;
  std::uint64_t events = 0;
};

/// Of work whose gradients and parameters take no time to send.
TrainingRecord run_without_network(const UpdateSettings& settings, StepTimes& times,
                                   const TrainingOptions& options);

}  // namespace trainyard
