#pragma once
// A job that trains until a target is reached (`job.target`): how many samples that takes, from the published
// points of the model file.

#include "experiment/resolved_experiment.hpp"
#include "workload/convergence.hpp"

#include <optional>

namespace trainyard {

struct JobTarget {
  Convergence curve;         ///< the published points in use
  double batch = 0;          ///< samples of an update
  SamplesToTarget expected;  ///< with the evaluations of the published runs
  /// Samples from one evaluation of this job to the next; nothing without evaluations.
  std::optional<double> between;
  bool has_published_evaluation = false;  ///< the job states none and takes that of the published runs
  double samples = 0;                     ///< at which training ends: at an evaluation, if there are any
};

/// Samples that an update of synchronous training applies.
double samples_of_update(const ResolvedExperiment& resolved);

/// The target of an experiment with `job.target`. Throws InputError at the key that is wrong: no model, no
/// points for this target or for a batch of this size, sequences of another length, updates that are not one
/// step of all ranks.
JobTarget job_target(const ResolvedExperiment& resolved);

}  // namespace trainyard
