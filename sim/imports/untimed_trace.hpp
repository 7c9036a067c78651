#pragma once
// An execution trace as a trace without durations: ops with shapes, FLOPs and bytes, which the GPU's profile
// times when the trace runs.

#include "imports/profile_trace.hpp"
#include "imports/traced_work.hpp"

namespace trainyard {

struct UntimedTrace {
  TracedProfile traced;
  ProfileWork work;        ///< of its profile
  ImportedTrace imported;  ///< ops without durations; times of parts and rows mean nothing
};

/// The trace of a step of the execution trace; `host_gaps` has no meaning. Throws InputError if no operator
/// works on tensors, or steps overlap.
UntimedTrace untimed_trace(const ExecutionTrace& trace, const ImportOptions& options = {});

}  // namespace trainyard
