#pragma once
// Faults and checkpoints over the length of a job whose step was simulated: what they cost, and how often to
// write a checkpoint.

#include "experiment/resolve.hpp"
#include "run/job_report.hpp"
#include "run/run.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The experiment of `run` has `faults`. Workers that are gone slow an
/// asynchronous job down as the update rule does without a network. Throws InputError if it names what the
/// job does not have, JobImpossible if the job does not get done.
JobReport job_report(const Run& run);

/// What the report rests on, for the reader.
std::vector<std::string> job_notes(const ResolvedExperiment& resolved, const JobReport& report);

}  // namespace trainyard
