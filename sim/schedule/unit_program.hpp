#pragma once
// How a rank gathers the parameters that it shares with its replicas unit by unit, and reduces their
// gradients, while its kernels run.

#include "schedule/launch_program.hpp"
#include "schedule/launches.hpp"
#include "strategy/shard_units.hpp"

#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace trainyard {

/// The collectives of a unit, one after the other: one for each axis whose groups divide parameters.
struct UnitLaunch {
  ShardUnit unit;
  std::vector<int> gathers = {};
  std::vector<int> gathers_again = {};  ///< before backward, if they are others
  std::vector<int> reductions = {};
  std::vector<int> sums_of_copies = {};  ///< of these, between nodes that hold copies of the shards
  double gathered = 0, reduced = 0;      ///< parameters
  SideWork before_gather = {}, after_gather = {}, before_reduction = {}, after_reduction = {};
  bool joins_gradients = false;  ///< its last op of backward copies its gradients
};

/// Writes the collectives of units, in the order of FSDP (Zhao et al. 2023, arXiv 2304.11277, section 3.3;
/// pytorch/torchtitan docs/fsdp.md). Gathers and the reductions of one group of ranks are collectives of one
/// communicator, which run one after the other in the order of their launches: on the stream `parameters`.
/// Sums of copies have a communicator of their own, on `communication`.
/// - forward gathers a unit once the one two before it has ended (UnitRules::limit_gathers), or has begun if
///   each tensor is copied (PyTorch _fully_shard/_fsdp_param_group.py, wait_for_unshard), or as far ahead as
///   live_parameters allows (DeepSpeed runtime/zero/partitioned_param_coordinator.py, fetch_sub_module)
/// - backward gathers the next unit during this one's kernels, or after its reduction, and reduces its
///   gradients during the next unit's kernels (_runtime_utils.py, _post_backward_reshard: a post-backward
///   prefetch comes before the reduction); where each tensor is copied, the next unit's copies wait for
///   that (_fsdp_param_group.py, post_backward)
class UnitProgram {
public:
  /// Keeps references to its arguments; units in the order of forward.
  UnitProgram(std::span<const UnitLaunch> units, const UnitRules& rules, ProgramWriter& writer,
              LaunchProgram& host);

  /// Comes before this op of a forward or backward pass.
  void before(int op);
  /// Comes after it.
  void after(int op);

private:
  enum class State { sharded, under_way, gathered };

  void begin_forward(int unit);
  void begin_backward(int unit);
  void end_backward(int unit);
  void await(int unit);
  void gather(int unit, const std::vector<int>& collectives, int event);
  void gather_forward(int unit);
  void gather_backward(int unit, int event);
  void prefetch_backward(int unit);
  void run(const SideWork& work, Stream stream, int collective);
  void release(int unit, int event);
  [[nodiscard]] int unit_at(const std::map<int, int>& units, int op) const;

  std::span<const UnitLaunch> units_;
  UnitRules rules_;
  ProgramWriter& writer_;
  LaunchProgram& host_;
  std::vector<State> states_;
  std::vector<int> events_;                        ///< by unit: the end of its gathering
  std::vector<int> begun_;                         ///< by unit: its begin in this forward pass
  std::map<int, int> forward_, backward_, ends_;   ///< by op: the unit that begins or ends there
  std::map<int, int> after_;                       ///< by unit: the one that backward uses next
  int current_ = -1;                               ///< the unit that runs in forward
  int reduced_ = -1;                               ///< the end of the last reduction
  double live_ = 0;                                ///< parameters that are whole, as far as writes know
  int begin_ = -1;                                 ///< of the unit that runs in backward
  std::deque<std::pair<int, double>> freed_ = {};  ///< events at which parameters are freed
};

}  // namespace trainyard
