#pragma once
// What many updates come to, from what the engine recorded: the median repeat, and what the Result of a
// steady step says instead.

#include "engine/training.hpp"
#include "experiment/setup.hpp"
#include "run/result.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// Of all repeats. Times of workers and the staleness are those of the one with the median time per update.
TrainingReport training_report(const std::vector<TrainingRecord>& repeats, const Cluster& cluster,
                               const UpdateSettings& settings, int ranks_per_worker, const StepCounts& steps);

/// When the last span that was kept ended, where that is before the measured time did.
std::optional<Seconds> shown_until(const TrainingReport& training);

/// What the Result says of one step, said of the updates of its `training`.
void describe_training(const Inputs& inputs, const Cluster& cluster, Result& result);

}  // namespace trainyard
