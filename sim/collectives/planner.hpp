#pragma once
// Turns sizes into collectives over one group of ranks: takes the requested algorithm or, for auto, NCCL's
// choice for the size, makes each plan once and numbers its patterns in the task graph. The only place that
// knows both the choice of an algorithm and the algorithms.

#include "collectives/nccl.hpp"
#include "collectives/nccl_tuning.hpp"
#include "collectives/plan.hpp"
#include "collectives/unaligned.hpp"

#include <map>
#include <optional>
#include <utility>

namespace trainyard {

/// The communication library of a job.
struct CollectiveSoftware {
  NcclVersion version = NcclVersion::none;  ///< the version whose choices `auto` follows
  ProtocolOverheads overheads;              ///< added to the wire
  int compute_capability = 70;              ///< of the GPUs, affects NCCL's choices: 75 is CUDA's 7.5
};

struct PlannerRequest {
  Operation operation{};
  std::vector<Rank> group;  ///< at least 2, ascending
  Rank root{};              ///< for broadcast and reduce; a member of the group
  Algorithm algorithm = Algorithm::automatic;
  std::optional<Protocol> protocol = {};  ///< empty: NCCL's choice
  PartAlignment parts = PartAlignment::whole;
  int gpus_per_process = 1;
};

/// The plan of one algorithm, not auto. Throws InputError if it cannot run on this group, Unreachable if some
/// ranks cannot reach each other.
CollectivePlan plan_by(Algorithm algorithm, const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request);

class Planner {
public:
  /// Keeps a reference to `cluster`.
  Planner(const Cluster& cluster, CollectiveSoftware software, PlannerRequest request);

  /// The collective at a size. Appends patterns not used before to `patterns`; phases refer to them by index,
  /// so this must always be the same vector. Throws InputError if the algorithm cannot run on this group,
  /// Unreachable if some ranks cannot reach each other.
  Collective collective(Bytes size, std::vector<Pattern>& patterns);

  /// The plan behind collective(size), without its patterns.
  const CollectivePlan& plan(Bytes size, std::vector<Pattern>& patterns);

private:
  struct Choice {
    Algorithm algorithm{};
    Protocol protocol{};
    UnalignedRounds unaligned = UnalignedRounds::none;
    friend auto operator<=>(const Choice&, const Choice&) = default;
  };
  struct Made {
    CollectivePlan plan;
    int first_pattern = 0;
  };
  [[nodiscard]] Choice choose(Bytes size) const;
  [[nodiscard]] UnalignedRounds unaligned(Choice choice, Bytes size) const;
  [[nodiscard]] std::optional<Algorithm> demanded_of_nccl() const;
  const Made& make(Bytes size, std::vector<Pattern>& patterns);

  const Cluster& cluster_;
  CollectiveSoftware software_;
  PlannerRequest request_;
  bool has_ring_ = true;
  std::optional<NcclShape> shape_;  ///< input for NCCL's choice; empty if nothing is left to choose
  std::map<Choice, Made> made_;
};

}  // namespace trainyard
