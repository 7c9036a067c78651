#pragma once
// Which collectives a step launches, when, and what the GPU does before and behind each: what a trace has
// recorded, or what the kind of synchronisation and the stack make of its gradients.

#include "collectives/operation.hpp"
#include "compute/op_time.hpp"
#include "experiment/experiment.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// Kernels on the communication stream.
struct SideWork {
  std::string name;  ///< "copy", "flatten", "compress", "sum"
  Seconds duration;
  bool is_of_root = false;  ///< only the root does it
  GpuUse use = {};          ///< what they need of the GPU
};

/// A collective to launch once an op has ended.
struct Launch {
  std::string name;     ///< "bucket 0", "parameters 0"
  std::string purpose;  ///< what is sent: "gradients", "parameters", "buckets" of a trace
  int ready_op = -1;  ///< index in the trace; -1: with the step's beginning, and compute waits for it
  Operation operation = Operation::all_reduce;
  Bytes size;  ///< as nccl-tests counts it (operation.hpp)
  int tensors = 0;
  Seconds held = {};  ///< by the host: from the end of the op to the tick of the cycle, and negotiation
  bool holds_next_micro_batch = false;  ///< which begins once this has ended
  SideWork before = {};
  SideWork after = {};
  GpuUse use = {};  ///< what the collective takes of every rank's GPU
};

/// The launches of one step of `ranks` (at least 2), in the order of the communication stream. `ends`: when
/// each op ends. all_reduce: what the trace names, else buckets or fused tensors as the stack says.
/// The buckets of a micro-batch are its own. peer_to_peer: the same buckets, as all-gathers of every rank's
/// update. dataparallel_gpu0: broadcasts of all parameters first, reductions of all gradients after backward,
/// both in buffers of the stack's bucket_cap; parameters have the type of the gradients as computed. Throws
/// InputError where the trace has collectives of its own and the kind makes others, and for what cannot be
/// compressed.
std::vector<Launch> launches_of(const Trace& trace, std::span<const Seconds> ends, const Stack& stack,
                                const GpuProfile& gpu, const Sync& sync, int ranks);

/// What the kind of synchronisation leaves out, and what of the stack it does not use.
std::vector<std::string> notes_on_kind(const Sync& sync, const Stack& stack);

}  // namespace trainyard
