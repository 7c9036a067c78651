#pragma once
// Bytes and rates of the phases of a whole job, from the model, the trace or the platform unless the job
// states them.

#include "experiment/resolved_experiment.hpp"
#include "units/quantity.hpp"

#include <string>

namespace trainyard {

/// Throws InputError, at the key of `job` that is wrong, if the job of the experiment needs a value that its
/// files lack: the samples of an epoch, the tokens of a sample, the storage of the platform, the parameters
/// of a trace, a trace with the batch of the evaluation.
void check_job_needs(const ResolvedExperiment& resolved);

/// Samples that have the tokens of `job.tokens`: they over the model's tokens per sample. Requires both.
double samples_of_tokens(const ResolvedExperiment& resolved);

/// Parameters of one copy of the model; 0 if a trace names none.
double parameters_of(const ResolvedExperiment& resolved);

/// Parameters and optimizer state in 4 bytes per value.
Bytes training_state(const ResolvedExperiment& resolved);

/// The time in which every rank reads the data of job.load once: at its rate, or through the storage of the
/// platform, which the ranks of a node share, and all of them the shared storage.
Seconds load_time(const ResolvedExperiment& resolved);

/// For a note: "a checkpoint holds the parameters and 1 value of optimizer state per parameter, ...".
std::string training_state_note(const ResolvedExperiment& resolved);

Bytes checkpoint_size(const ResolvedExperiment& resolved);

/// The bandwidth of job.checkpoint, else that of one node's storage, at most the shared storage's.
Bandwidth checkpoint_bandwidth(const ResolvedExperiment& resolved);

}  // namespace trainyard
