#pragma once
// The part of a run that learns (key `learn`): where its order logs end, and the replay of them with real
// gradients (learn/learn.hpp). It comes after the simulation and changes no time of it, except that k may be
// chosen from the loss (k_choice()).

#include "engine/training.hpp"
#include "experiment/resolve.hpp"
#include "learn/absences.hpp"
#include "learn/learn.hpp"
#include "run/run.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// Asks the engine for the order log of each repeat, up to the end that `learn` names; appends them to
/// `logs` if they are wanted. Without `learn`, and if they are neither wanted nor needed for the choice of k,
/// no log is written. `step`: time of a worker's step without random factors. Throws InputError if the replay
/// would have too many gradients.
OrderLogOptions order_logs(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                           const StepCounts& counts, Seconds step, bool is_wanted,
                           std::vector<OrderLog>& logs);

/// Chooses k while the job runs (learn/adaptive_k.hpp); empty if k is fixed. Refers to `resolved`.
std::function<int(int, const OrderLog&)> k_choice(const ResolvedExperiment& resolved,
                                                  const UpdateSettings& settings, int ranks_per_worker);

/// The order of a job whose workers are all in step: an update with a gradient of each after every `step`.
/// Throws InputError as order_logs() does.
OrderLog order_in_step(int workers, Seconds step, const LearnSettings& settings, const StepCounts& counts);

/// The workers that are missing by the dates of `faults` while others learn; none without `learn`. Throws
/// InputError for faults that take parameters away.
std::vector<Absence> absences(const ResolvedExperiment& resolved);

/// Replays the logs, `counts.repeats` times if all repeats have the same order: batches and the start of the
/// model differ still. A worker's step has the batch of `ranks_per_worker` ranks.
std::shared_ptr<const Learning> learning_from(const ResolvedExperiment& resolved,
                                              std::span<const OrderLog> logs, UpdateRule rule,
                                              int ranks_per_worker);

/// The repeats at the same time: a point of the curve that reports print and draw. All repeats count: one
/// that ended keeps its last values, one that diverged has an infinite loss.
struct LearningRow {
  Seconds at;
  int ended = 0;                    ///< repeats that ended, without divergence, before this time
  double updates = 0, samples = 0;  ///< medians, without repeats that diverged
  Quartiles loss;                   ///< of the training samples
  std::optional<Quartiles> error;   ///< of the test samples, or of the training samples if there are none
};

/// The points up to which at least half of the repeats did not diverge.
std::vector<LearningRow> learning_rows(const Learning& learning);

/// "3 of 5 repeats ended before the last point and keep the values of their end"; empty if none did.
std::string ended_in_words(const Learning& learning, const std::vector<LearningRow>& rows);

/// "test error", or "training error" without test samples.
std::string_view error_name(const Learning& learning);

/// "softmax on digits, in the order of resnet50 on p2_16xlarge": whose losses, and whose clock.
std::string learning_title(const Run& run);

/// The assumptions of the replay, for the reader.
std::vector<std::string> learning_notes(const Run& run);

}  // namespace trainyard
