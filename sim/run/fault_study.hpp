#pragma once
// Faults and checkpoints over the length of a job whose step was simulated: what they cost, and how often to
// write a checkpoint.

#include "experiment/setup.hpp"
#include "run/fault_report.hpp"
#include "run/result.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The experiment has `faults`; `result` is its steady step or training. Workers that are gone slow an
/// asynchronous job down as the update rule does without a network. Throws InputError if it names what the
/// job does not have, JobImpossible if the job does not get done.
FaultReport fault_report(const Inputs& inputs, const Result& result);

/// What the report rests on, for the reader.
std::vector<std::string> fault_notes(const Inputs& inputs, const FaultReport& report);

}  // namespace trainyard
