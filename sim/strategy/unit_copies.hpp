#pragma once
// Kernels by which software copies the parameters and gradients of a unit around its collectives: those
// between a model's kernels are ops of the trace, the others run on the stream of the collectives.

#include "strategy/rank_class.hpp"
#include "strategy/shard_units.hpp"
#include "strategy/stack.hpp"

#include <map>

namespace trainyard {

/// Values of a unit: bytes of each as it is gathered and as it is reduced, and as a rank keeps its part.
struct UnitValues {
  Bytes gathered, reduced, kept;
};

/// The values of the units of a job.
UnitValues unit_values(const Stack& stack, Precision precision);

/// Bytes that kernels read and write for a unit in one pass.
struct UnitCopies {
  Bytes before_gather, after_gather;  ///< next to the collective
  Bytes copied_out;                   ///< before the unit's kernels, once it is gathered
  Bytes joined;                       ///< after them in backward
  Bytes before_reduction, after_reduction;
};

/// Of `parameters` values that `ranks` divide. `gathered`: those that are gathered, if fewer. Sources:
/// - flat: PyTorch torch/distributed/fsdp/_flat_param.py (_use_low_precision_shard; views of the flat
///   parameter by split, whose gradient joins those of the views) and _runtime_utils.py (_reduce_grad,
///   _accumulate_sharded_grad)
/// - tensors: torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py (foreach_all_gather,
///   foreach_all_gather_copy_out, foreach_reduce)
/// - modules: DeepSpeed runtime/zero/partition_parameters.py (AllGatherCoalescedHandle.wait), stage3.py
///   (__add_grad_to_ipg_bucket) and runtime/comm/coalesced_collectives.py (reduce_scatter_coalesced)
UnitCopies unit_copies(const UnitRules& rules, double parameters, double gathered, int ranks,
                       const UnitValues& values);

/// Gives a class the ops of its units' copies, and its additions of gradients the values that a rank adds,
/// in place of those that it has. `shards`: by axis, the ranks that divide the state.
void set_unit_ops(RankClass& one, const Stack& stack, Sharded shard, const std::map<Axis, int>& shards,
                  Precision precision, Seconds launch = {}, Seconds gap = {});

/// Whether an op is such a copy.
bool is_unit_copy(const Op& op);

}  // namespace trainyard
