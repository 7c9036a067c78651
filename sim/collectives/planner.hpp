#pragma once
// Turns sizes into collectives over one group of ranks: takes the algorithm that was asked for, or for auto
// what NCCL would take at that size, makes each plan once and numbers its patterns in the task graph. The one
// place where the choice of an algorithm meets the ways to carry it out.

#include "collectives/nccl.hpp"
#include "collectives/nccl_tuning.hpp"
#include "collectives/plan.hpp"

#include <map>
#include <optional>
#include <utility>

namespace trainyard {

/// The communication library of a job.
struct CollectiveSoftware {
  NcclVersion version = NcclVersion::none;  ///< whose choices `auto` makes
  Costs costs;                              ///< what it adds to the wire
  int compute_capability = 70;              ///< of the GPUs, which its choices depend on: 75 is CUDA's 7.5
};

struct PlannerRequest {
  Operation operation{};
  std::vector<Rank> group;  ///< at least 2, ascending
  Rank root{};              ///< of broadcast and reduce; one of the group
  Algorithm algorithm = Algorithm::automatic;
  std::optional<Protocol> protocol = {};  ///< none: as NCCL chooses
};

/// The plan of one algorithm, not auto. Throws InputError if it cannot run on this group, Unreachable if some
/// ranks cannot reach each other.
CollectivePlan plan_by(Algorithm algorithm, const Cluster& cluster, const Costs& costs,
                       const CollectiveRequest& request);

class Planner {
public:
  /// Keeps a reference to `cluster`.
  Planner(const Cluster& cluster, CollectiveSoftware software, PlannerRequest request);

  /// The collective at a size. Patterns not used before are appended to `patterns`, where stages refer to
  /// them by index: always the same vector. Throws InputError if the algorithm cannot run on this group,
  /// Unreachable if some ranks cannot reach each other.
  Collective collective(Bytes size, std::vector<Pattern>& patterns);

  /// The plan behind collective(size), without its patterns.
  const CollectivePlan& plan(Bytes size, std::vector<Pattern>& patterns);

private:
  struct Choice {
    Algorithm algorithm{};
    Protocol protocol{};
    friend auto operator<=>(const Choice&, const Choice&) = default;
  };
  struct Made {
    CollectivePlan plan;
    int first_pattern = 0;
  };
  [[nodiscard]] Choice choose(Bytes size) const;
  [[nodiscard]] std::optional<Algorithm> demanded_of_nccl() const;
  const Made& make(Bytes size, std::vector<Pattern>& patterns);

  const Cluster& cluster_;
  CollectiveSoftware software_;
  PlannerRequest request_;
  bool has_ring_ = true;
  std::optional<NcclShape> shape_;  ///< what NCCL chooses by; none where nothing is left to it
  std::map<Choice, Made> made_;
};

}  // namespace trainyard
