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
  Seconds preparation = {};      ///< of the host, for each of its collectives
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
/// - a host that synchronises waits for the GPU before each unit (DeepSpeed v0.3.15, runtime/zero/stage3.py:
///   _synchronize_communication, prefetch_next_sub_modules; partition_parameters.py: _allgather_param), and
///   frees a unit that was computed again until its gradients are computed (release_sub_module)
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
  void begin_backward(int use);
  void end_backward(int unit);
  void await(int unit);
  void gather(int unit, const std::vector<int>& collectives, int event);
  void gather_forward(int unit);
  void gather_backward(int unit, int event);
  void prefetch_backward(int use);
  [[nodiscard]] int unit_after(int use) const;
  void run(const SideWork& work, Stream stream, int collective);
  void prepare(int unit, int collective);
  void await_reductions(int unit);
  void synchronise(int unit, int next);
  [[nodiscard]] bool is_ahead(int unit, int next) const;
  void release(int unit, int event);
  [[nodiscard]] int unit_at(const std::map<int, int>& units, int op) const;

  std::span<const UnitLaunch> units_;
  UnitRules rules_;
  ProgramWriter& writer_;
  LaunchProgram& host_;
  std::vector<State> states_;
  std::vector<int> events_;                        ///< by unit: the end of its gathering
  std::vector<int> begun_;                         ///< by unit: its begin in this forward pass
  std::map<int, int> forward_, ends_;              ///< by op: the unit that begins or ends there
  std::map<int, int> backward_;                    ///< by op: the use in backward that begins there
  std::map<int, int> freed_after_;                 ///< by op: the unit that is freed before its next use
  std::vector<int> uses_;                          ///< units in the order in which backward uses them
  std::vector<int> last_use_;                      ///< by unit: its last place in uses_
  int current_ = -1;                               ///< the unit that runs in forward
  int turn_ = -1;                                  ///< place in uses_ of the use that has begun last
  int used_ = -1;                                  ///< the unit that has begun last
  int reduced_ = -1;                               ///< the end of the last reduction
  double live_ = 0;                                ///< parameters that are whole, as far as writes know
  int begin_ = -1;                                 ///< of the unit that runs in backward
  std::deque<std::pair<int, double>> freed_ = {};  ///< events at which parameters are freed
};

}  // namespace trainyard
