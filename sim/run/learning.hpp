#pragma once
// The part of a run that learns (key `learn`): where its order logs end, and the replay of them with real
// gradients (learn/learn.hpp). It comes after the simulation and changes no time of it.

#include "engine/training.hpp"
#include "experiment/resolve.hpp"
#include "learn/learn.hpp"
#include "run/run.hpp"

#include <memory>
#include <string>
#include <vector>

namespace trainyard {

/// Asks the engine for the order log of each repeat, up to the end that `learn` names; appends them to
/// `logs`. Without `learn`, or if it is not wanted, no log is written. `step`: time of a worker's step
/// without random factors. Throws InputError if the replay would have too many gradients.
OrderLogOptions order_logs(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                           const StepCounts& counts, Seconds step, bool is_wanted,
                           std::vector<OrderLog>& logs);

/// The order of a job whose workers are all in step: an update with a gradient of each after every `step`.
/// Throws InputError as order_logs() does.
OrderLog order_in_step(int workers, Seconds step, const LearnSettings& settings, const StepCounts& counts);

/// Replays the logs, `counts.repeats` times if all repeats have the same order: batches and the start of the
/// model differ still. A worker's step has the batch of `ranks_per_worker` ranks.
std::shared_ptr<const Learning> learning_from(const ResolvedExperiment& resolved, std::vector<OrderLog> logs,
                                              UpdateRule rule, int ranks_per_worker);

/// The repeats at the same time: a point of the curve that reports print and draw.
struct LearningRow {
  Seconds at;
  double updates = 0, samples = 0;  ///< medians
  Quartiles loss;                   ///< of the training samples; a repeat that diverged counts as infinite
  std::optional<Quartiles> error;   ///< of the test samples, or of the training samples if there are none
};

/// The points that at least half of the repeats reach.
std::vector<LearningRow> learning_rows(const Learning& learning);

/// "test error", or "training error" without test samples.
std::string_view error_name(const Learning& learning);

/// "softmax on digits, in the order of resnet50 on p2_16xlarge": whose losses, and whose clock.
std::string learning_title(const Run& run);

/// The assumptions of the replay, for the reader.
std::vector<std::string> learning_notes(const Run& run);

}  // namespace trainyard
