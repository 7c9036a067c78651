#pragma once
// The work of an execution trace's operators for a GPU. The innermost operators that read and write tensors
// are its kernels; views, allocations and copies from or to the host are none. A trace made of it has ops
// with shapes, FLOPs and bytes, which the GPU's profile times when the trace runs.

#include "imports/execution_trace.hpp"
#include "imports/profile_trace.hpp"
#include "units/quantity.hpp"

#include <unordered_map>

namespace trainyard {

struct TracedWork {
  Flops flops;  ///< of matrix products and convolutions of known shape
  Bytes bytes;  ///< of the tensors that are read and written
};

struct TracedProfile {
  /// The operators as events of a host, and a kernel for each innermost one. Times are no times: the host's
  /// are places in the order of starts, and each kernel lasts 1 ns behind the one before.
  Profile profile;
  std::unordered_map<std::uint64_t, TracedWork> work;  ///< of each kernel, by its correlation
  int host_copies = 0;
  double matrix_flops = 0;       ///< of all matrix products (mm, addmm, bmm)
  double convolution_flops = 0;  ///< of all convolutions in forward
  int unknown_shapes = 0;        ///< matrix products and convolutions whose FLOPs are unknown
};

/// Throws InputError if no operator works on tensors.
TracedProfile profile_of(const ExecutionTrace& trace);

/// The operands of a node as a profile keeps them; the index of them, or none if the node has none.
std::uint32_t add_operands(const TracedNode& node, Profile& profile);

/// A collective of a node as a profile keeps it; the index, or none.
std::uint32_t add_collective(const TracedNode& node, const ExecutionTrace& trace, Profile& profile);

/// Ranks of the job: those of the largest group; nothing if no group is known.
std::optional<int> ranks_of(const ExecutionTrace& trace);

struct UntimedTrace {
  TracedProfile traced;
  ProfileWork work;        ///< of its profile
  ImportedTrace imported;  ///< ops without durations; times of parts and rows mean nothing
};

/// The trace of a step of the execution trace; `host_gaps` has no meaning. Throws InputError if no operator
/// works on tensors, or steps overlap.
UntimedTrace untimed_trace(const ExecutionTrace& trace, const ImportOptions& options = {});

}  // namespace trainyard
