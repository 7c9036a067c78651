#pragma once
// Phases of a whole job that are simulated apart from its steps: the forward pass of an evaluation, the
// broadcast of the parameters.

#include "experiment/resolve.hpp"
#include "units/quantity.hpp"

namespace trainyard {

/// The forward pass of one batch on every rank: kernels as in training, and the wait for samples. Collectives
/// that a trace launches in it take their closed forms.
struct ForwardPass {
  Seconds time;
  Joules energy;  ///< of all ranks and nodes; 0 if the power is not known
};

/// The forward pass of `batch` samples per rank. Throws as plan_step().
ForwardPass forward_pass(const ResolvedExperiment& resolved, int batch);

/// The time in which rank 0 sends the parameters, in the type of the model's weights, to all other ranks in
/// one collective of the stack's library that has the network to itself (fidelity `closed`); 0 for one rank.
/// Throws Unreachable.
Seconds broadcast_time(const ResolvedExperiment& resolved);

/// The time in which all ranks average one value: the communication thread's wait for its cycle
/// (stack.fusion.cycle_time) and an all-reduce of 4 bytes by the stack's library. Throws Unreachable.
Seconds metric_time(const ResolvedExperiment& resolved);

}  // namespace trainyard
