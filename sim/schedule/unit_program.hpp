#pragma once
// How a rank gathers the parameters that it shares with its replicas unit by unit, and reduces their
// gradients, while its kernels run.

#include "schedule/launch_program.hpp"
#include "schedule/shard_units.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// The collectives of a unit, one after the other: one for each axis whose groups divide parameters.
struct UnitLaunch {
  ShardUnit unit;
  std::vector<int> gathers = {};
  std::vector<int> reductions = {};  ///< and those between nodes that hold copies of the shards
};

/// Writes the collectives of units, in the order of FSDP (Zhao et al. 2023, arXiv 2304.11277, section 3.3;
/// pytorch/torchtitan docs/fsdp.md): a unit's parameters are gathered while the unit before runs, at most one
/// unit ahead; they are freed after the unit's forward, except those of the root and of the last unit, and
/// gathered again for its backward; its gradients are reduced during the next unit's backward.
class UnitProgram {
public:
  /// Keeps references to its arguments; units in the order of forward.
  UnitProgram(std::span<const UnitLaunch> units, ProgramWriter& writer, LaunchProgram& host);

  /// Comes before this op of a forward or backward pass.
  void before(int op);
  /// Comes after it.
  void after(int op);

private:
  enum class State { sharded, under_way, gathered };

  void use(int unit, int next);
  void gather(int unit);
  void free(int unit);
  [[nodiscard]] bool is_kept(int unit) const;

  std::span<const UnitLaunch> units_;
  ProgramWriter& writer_;
  LaunchProgram& host_;
  std::vector<State> states_;
  std::vector<int> events_;  ///< by unit: the end of its gathering
  int current_ = -1;         ///< the unit that runs in forward
};

}  // namespace trainyard
