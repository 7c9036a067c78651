#pragma once
// Faults and checkpoints over the length of a job whose step was simulated: their cost, and how often to
// write a checkpoint.

#include "experiment/resolve.hpp"
#include "run/job_report.hpp"
#include "run/run.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The experiment of `run` has `faults`. Missing workers slow an asynchronous job down by as much as the
/// update rule does without a network. Throws InputError if it names parts that the job does not have,
/// JobImpossible if the job does not finish.
JobReport job_report(const Run& run);

/// The assumptions and sources of the report, for the reader.
std::vector<std::string> job_notes(const ResolvedExperiment& resolved, const JobReport& report);

}  // namespace trainyard
