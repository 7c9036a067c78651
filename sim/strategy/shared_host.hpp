#pragma once
// How much longer the host takes to launch kernels because other ranks use the same node. The experiment
// knows the node (experiment/node_host.hpp); traces and schedules only need the factors.

#include "workload/trace.hpp"

namespace trainyard {

/// Factors on the host's time for launches, at least 1. `rest` is for the update, collectives and the time
/// between steps.
struct SharedHost {
  double forward = 1, backward = 1, rest = 1;

  friend bool operator==(const SharedHost&, const SharedHost&) = default;
};

inline double factor(const SharedHost& shared, Phase phase) {
  if (phase == Phase::forward) return shared.forward;
  return phase == Phase::backward ? shared.backward : shared.rest;
}

/// The trace of a rank that shares its host.
inline void share_host(Trace& trace, const SharedHost& shared) {
  if (shared == SharedHost{}) return;
  for (Op& op : trace.ops) op.host = factor(shared, op.phase) * op.host;
  trace.host.between_steps = shared.rest * trace.host.between_steps;
  trace.host.collective = shared.rest * trace.host.collective;
}

/// The host's time for a launch of such a trace, had the rank the node for itself.
inline Seconds time_alone(const Op& op, const SharedHost& shared) {
  return op.host / factor(shared, op.phase);
}

}  // namespace trainyard
