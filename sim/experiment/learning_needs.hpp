#pragma once
// Checks of the key `learn` that need the whole experiment: its workers, its samples and its length.

#include "experiment/resolved_experiment.hpp"

namespace trainyard {

/// The most gradients that a repeat computes: a minute for the smallest models; the log has 24 bytes for
/// each.
inline constexpr double most_gradients = 2e7;

/// Throws InputError at `key` if that would be more.
void require_few_gradients(double gradients, const char* key);

/// With `learn.until.job`, the updates of the job's steps become `learn.until.updates`: epochs of all samples
/// that the replicas pass over, in whole updates of their batches. Throws InputError if the samples of an
/// epoch are not known, or if other updates are stated.
void end_with_job(ResolvedExperiment& resolved);

/// Throws InputError with the key: if workers would have no samples, or if the number of updates that are
/// asked for gives too many gradients. An end by time is left to the simulation.
void check_learning_needs(const ResolvedExperiment& resolved);

}  // namespace trainyard
