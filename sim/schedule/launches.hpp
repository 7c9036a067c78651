#pragma once
// The collectives that a step launches, their dates, and the GPU's work before and after each: recorded in a
// trace, or derived from its gradients by the kind of synchronisation and the stack.

#include "collectives/operation.hpp"
#include "compute/op_time.hpp"
#include "experiment/experiment.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// Kernels on the communication stream, or copies and sums of the host for which it waits.
struct SideWork {
  std::string name;  ///< "copy", "flatten", "compress", "sum", "copy to host"
  Seconds duration;
  bool is_of_root = false;  ///< only the root runs them
  bool is_of_host = false;  ///< they use no multiprocessor and no memory of the GPU
  GpuUse use = {};          ///< their use of the GPU
};

/// The time of a kernel that reads and writes so many bytes.
Seconds moving_time(const GpuProfile& gpu, Precision precision, Bytes moved);

/// A collective, or an end of a message, to launch once an op has ended.
struct Launch {
  std::string name;     ///< "bucket 0", "parameters 0"
  std::string purpose;  ///< the data sent: "gradients", "parameters", "buffers", "buckets" of a trace
  int ready_op = -1;    ///< index in the trace; -1: at the beginning of the step
  /// Index of the op that waits for it; empty: only the optimizer waits.
  std::optional<int> needed_by = {};
  Operation operation = Operation::all_reduce;
  Axis axis = Axis::all;  ///< whose groups take part
  Bytes size;             ///< as nccl-tests counts it (operation.hpp)
  int tensors = 0;
  Seconds held = {};  ///< delay by the host: from the end of the op to the tick of the cycle, and negotiation
  SideWork before = {};
  SideWork after = {};
  GpuUse use = {};  ///< use of every rank's GPU by the collective
  int op = -1;      ///< that names it in a trace; of gradients, the op that completes them
  std::optional<MessageEnd> message = {};
  int collective = -1;  ///< its number in the task graph
};

/// The launches of one step of `ranks` (at least 2), in the order of the communication stream. `ends`: end of
/// each op. all_reduce: those that the trace names; if these are only messages or none, the stack's buckets
/// or fused tensors, separately for each micro-batch, and broadcasts of buffers if the stack has them.
/// peer_to_peer: the same buckets, as all-gathers of every rank's update. dataparallel_gpu0: broadcasts of
/// all parameters first, reductions of all gradients after backward, both in buffers of the stack's
/// bucket_cap; parameters have the type of the computed gradients. Throws InputError if the trace has
/// collectives and the kind needs others, and for updates that cannot be compressed.
std::vector<Launch> launches_of(const Trace& trace, std::span<const Seconds> ends, const Stack& stack,
                                const GpuProfile& gpu, const Sync& sync, int ranks);

/// Simplifications of the kind of synchronisation, and keys of the stack that it does not use.
std::vector<std::string> notes_on_kind(const Sync& sync, const Stack& stack);

}  // namespace trainyard
