#pragma once
// Buckets of data-parallel training: which tensors PyTorch sends together, and when a bucket is complete.

#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <span>
#include <utility>
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

/// The sizes at which the first bucket and the others close.
struct BucketLimits {
  Bytes first, others;
};

/// A stack's limits for gradients of `value` bytes: its overlapped_buckets if reductions overlap with
/// backward, its sizes otherwise. `replicas`: that sum them. Without `is_first_chunk` they are those of any
/// other virtual stage than the first one of the first stage. Source: NVIDIA/Megatron-LM
/// megatron/core/distributed/distributed_data_parallel.py (bucket_size, pp_rank, disable_bucketing).
BucketLimits bucket_limits(const Stack& stack, Bytes value, int replicas, bool is_first_chunk = true);

/// PyTorch DDP's rule: gradients in ready order join the open bucket, which closes once it has reached its
/// limit (so it may exceed it by up to one tensor). This is the assignment after DDP has rebuilt its buckets
/// at the end of the first step. Without `overlap` the buckets are the same, but all are ready only after the
/// last gradient. Gradients must be in the order of their ops; each has `value` bytes per element. Without
/// gradients there are no buckets. Throws InputError if a limit is not positive. Source: PyTorch
/// torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
std::vector<Bucket> ddp_buckets(std::span<const ReadyGradient> gradients, BucketLimits limits, bool overlap,
                                Bytes value);

/// The same with the stack's own sizes.
std::vector<Bucket> ddp_buckets(std::span<const ReadyGradient> gradients, const Stack& stack, Bytes value);

/// Collects gradients into buckets, one after the other.
class BucketFiller {
public:
  void add(const Gradient& gradient, Bytes bytes, int ready_after = -1) {
    open_.bytes += bytes;
    open_.gradients.push_back(gradient);
    open_.ready_after = ready_after;
  }
  /// The next gradient begins another bucket.
  void close() {
    if (!open_.gradients.empty()) closed_.push_back(std::exchange(open_, {}));
  }
  [[nodiscard]] Bytes open_bytes() const { return open_.bytes; }
  [[nodiscard]] std::size_t closed() const { return closed_.size(); }
  std::vector<Bucket> take() {
    close();
    return std::move(closed_);
  }

private:
  Bucket open_;
  std::vector<Bucket> closed_;
};

/// How PyTorch's nn.DataParallel combines the parameters that GPU 0 broadcasts before a step:
/// buffers that close once they reach the limit, so they exceed it by up to one tensor. Source: PyTorch
/// torch/csrc/cuda/comm.cpp, broadcast_coalesced; torch/csrc/utils/tensor_flatten.cpp, take_tensors.
/// `tensors`: in the order of the model's parameters; each value has `value` bytes.
std::vector<Bucket> broadcast_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value);

/// The gradients that return to GPU 0: buffers that stay within the limit; a larger tensor goes alone.
/// Source: PyTorch torch/nn/parallel/comm.py, reduce_add_coalesced; torch/_utils.py, _take_tensors.
std::vector<Bucket> reduce_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value);

}  // namespace trainyard
