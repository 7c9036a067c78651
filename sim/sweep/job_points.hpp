#pragma once
// Sweeps whose points are whole jobs (the experiment's key `job`): they are chosen by the total of the job.

#include "config/catalogue.hpp"
#include "experiment/input_files.hpp"
#include "sweep/sweep.hpp"

namespace trainyard {

/// The sweep, with `is_of_jobs` set if it sets or varies a key of `job`, or one of its experiments has the
/// key. The goal's epochs are then those of every point's job. Experiments that cannot be read are left to
/// the reading of their points. Throws InputError if the goal and the points state epochs.
Sweep with_jobs(const config::Catalogue& catalogue, Sweep sweep, InputFiles& files);

}  // namespace trainyard
