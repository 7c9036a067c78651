#pragma once
// Sweeps whose points are whole jobs (the experiment's key `job`): they are chosen by the total of the job.

#include "config/catalogue.hpp"
#include "experiment/input_files.hpp"
#include "sweep/sweep.hpp"

namespace trainyard {

/// The sweep, with `is_of_jobs` set if it sets or varies a key of `job`, or one of its experiments has the
/// key, or the goal has a target; `is_of_targets` if any of these has a target; `has_learning` if any has the
/// key `learn`; and `has_accuracy` if jobs have no target and a model's file has `fixed_epochs`. The goal's
/// target is that of every point's job. The goal's epochs are then those of every point's job, in place of
/// the length in an experiment's file. Experiments that cannot be read are left to the reading of their
/// points. Throws InputError if the sweep also sets or varies job.epochs, job.steps or job.target.
Sweep with_jobs(const config::Catalogue& catalogue, Sweep sweep, InputFiles& files);

}  // namespace trainyard
