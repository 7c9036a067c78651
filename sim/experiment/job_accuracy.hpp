#pragma once
// The accuracy that a job of a fixed number of epochs (`job.epochs`) reaches, from the published runs of the
// model file (`fixed_epochs`).

#include "experiment/resolved_experiment.hpp"
#include "units/known.hpp"
#include "workload/fixed_epochs.hpp"

#include <string>

namespace trainyard {

struct JobAccuracy {
  FixedEpochs table;  ///< the published runs in use
  double batch = 0;   ///< samples of an update
  AccuracyAtEnd expected;
};

/// The reason if it is not known; an empty one if the model has no such runs or the job no epochs.
Known<JobAccuracy> job_accuracy(const ResolvedExperiment& resolved);

}  // namespace trainyard
