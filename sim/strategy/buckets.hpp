#pragma once
// Gradient buckets of data-parallel training: which gradients are reduced together, and when a bucket is
// complete.

#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// A gradient and the op of the trace that completes it.
struct ReadyGradient {
  Gradient gradient;
  int op = -1;
  int needed_op = 0;  ///< the first op of the same layer, which reads the parameters
};

/// Gradients that are reduced by one collective.
struct Bucket {
  Bytes bytes;                      ///< in the stack's gradient type: one rank's buffer
  std::vector<Gradient> gradients;  ///< in ready order
  int ready_after = -1;             ///< index of the trace's op after whose end the bucket may be reduced
};

/// The gradients of a trace in the order in which its ops complete them. If backward ends with passes over
/// all gradients, none is ready before the last pass.
std::vector<ReadyGradient> ready_gradients(const Trace& trace);

/// PyTorch DDP's rule: gradients in ready order join the open bucket, which closes once it has reached its
/// limit (so it may exceed it by up to one tensor); the limit is bucket_first for the first bucket and
/// bucket_cap for the others. This is the assignment after DDP has rebuilt its buckets at the end of the
/// first step. With overlap: false the buckets are the same, but all are ready only after the last gradient.
/// Gradients must be in the order of their ops; each has `value` bytes per element. Without gradients there
/// are no buckets. Throws InputError if a limit is not positive. Source: PyTorch
/// torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
std::vector<Bucket> ddp_buckets(std::span<const ReadyGradient> gradients, const Stack& stack, Bytes value);

}  // namespace trainyard
