#pragma once
// Gradient accumulation: several micro-batches before an update.

#include "workload/trace.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// The op that adds the gradients that `ops` complete to those of earlier micro-batches, `gradient` bytes per
/// value: it reads two and writes one. None without gradients.
std::optional<Op> gradient_addition(const std::vector<Op>& ops, Bytes gradient);

/// Whether an op is one of these.
bool is_gradient_addition(const Op& op);

/// How software accumulates.
struct AccumulationRules {
  bool reduces_each = false;     ///< every backward completes all gradients (PyTorch's DDP without no_sync)
  bool fuses_additions = false;  ///< kernels of backward add gradients to earlier ones: no ops of their own
};

/// Turns the step of one micro-batch into one of `micro_batches`: forward and backward that many times, the
/// gradients of all but the last summed in place, then the update. Only the last backward completes gradients
/// and launches collectives of all ranks or of replicas (PyTorch's no_sync, Horovod's
/// backward_passes_per_step); those of other groups are repeated. Summing reads two
/// gradients and writes one, each `gradient` bytes per value; it follows each backward but the last, so that
/// the last one keeps its overlap with the collectives. Throws InputError if micro_batches < 1 or the trace
/// already has more than one.
void accumulate(Trace& trace, int micro_batches, Bytes gradient, AccumulationRules rules = {});

}  // namespace trainyard
