#pragma once
// Turns sizes into collectives over one group of ranks, or over several at the same time: takes the requested
// algorithm or, for auto, NCCL's choice for the size, makes each plan once and numbers its patterns in the
// task graph. The only place that knows both the choice of an algorithm and the algorithms.

#include "collectives/bounds.hpp"
#include "collectives/library.hpp"
#include "collectives/nccl_tuning.hpp"
#include "collectives/plan.hpp"
#include "units/ids.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

struct PlannerRequest {
  Operation operation{};
  /// Groups of equally many ranks, at least 2, ascending; no rank is in two of them. They carry out the
  /// operation at the same time and count as one collective, which ends when the last of them does.
  RankGroups groups;
  Rank
      root{};  ///< for broadcast and reduce: a member of the first group; of the others the rank in its place
  Algorithm algorithm = Algorithm::automatic;
  std::optional<TorusGrid> grid = {};     ///< for torus2d; empty: torus_grid() (torus2d.hpp)
  std::optional<Protocol> protocol = {};  ///< empty: NCCL's choice
  /// send_recv: every group is a sender and its receiver, in this order. Otherwise every rank sends to the
  /// next.
  bool one_way = false;
};

/// The plan of one algorithm, not auto. Throws InputError if it cannot run on this group, Unreachable if some
/// ranks cannot reach each other.
CollectivePlan plan_by(Algorithm algorithm, const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request);

/// The rate of a pattern's edges when nothing else uses their links.
Bandwidth rate_alone(const Cluster& cluster, const Pattern& pattern);

/// Groups that lie alike on their nodes (group_kinds.hpp) are planned once. The plans of different kinds are
/// united where their phases agree; otherwise only the groups that take longest alone are simulated, all
/// ranks take part nevertheless, and a note says so.
class Planner {
public:
  /// Keeps a reference to `cluster`.
  Planner(const Cluster& cluster, CollectiveSoftware software, PlannerRequest request);

  /// The collective at a size. Appends patterns not used before to `patterns`; phases refer to them by index,
  /// so this must always be the same vector. Throws InputError if the algorithm cannot run on these groups,
  /// Unreachable if some ranks cannot reach each other.
  Collective collective(Bytes size, std::vector<Pattern>& patterns);

  /// The plan behind collective(size), without its patterns.
  const CollectivePlan& plan(Bytes size, std::vector<Pattern>& patterns);

  /// collective_bound() of the groups.
  Seconds bound(Bytes size);

private:
  struct Choice {
    Algorithm algorithm{};
    Protocol protocol{};
    friend auto operator<=>(const Choice&, const Choice&) = default;
  };
  /// Groups that are alike, with the shape that NCCL's choice depends on.
  struct Kind {
    RankGroups groups;
    bool has_ring = true;
    std::optional<NcclShape> shape;  ///< empty if nothing is left to choose
  };
  /// A plan of some kinds of groups together.
  struct Made {
    CollectivePlan plan;
    std::vector<Bandwidth> rates;  ///< by pattern: of its links; only if there are others to compare with
    int first_pattern = -1;        ///< -1: not among the task graph's patterns yet
  };
  [[nodiscard]] Choice choose(const Kind& kind, Bytes size) const;
  [[nodiscard]] std::optional<Algorithm> demanded_of_nccl() const;
  /// The plan of groups that are alike; `is_all`: there are no others.
  [[nodiscard]] CollectivePlan plan_of(Choice choice, const RankGroups& groups, bool is_all) const;
  /// The plans for these choices, one by kind; several if they cannot be united.
  [[nodiscard]] std::vector<Made> make(const std::vector<Choice>& choices) const;
  /// The first pattern of a plan with the same edges; -1 if there is none.
  [[nodiscard]] int known_pattern(const std::vector<Choice>& choices) const;
  /// The plans at a size; several if they cannot be united.
  std::vector<Made>& made_for(Bytes size);
  /// The plan at a size, the slowest if there are several.
  const Made& slowest(Bytes size, std::vector<Pattern>& patterns);

  const Cluster& cluster_;
  CollectiveSoftware software_;
  PlannerRequest request_;  ///< its groups are in `kinds_`
  std::size_t root_place_ = 0;
  int participants_ = 0;
  int message_channels_ = 1;  ///< channels_per_pair(), where the protocol of messages depends on it
  std::vector<Kind> kinds_;
  std::map<std::vector<Choice>, std::vector<Made>> made_;  ///< by the choice for each kind
  std::vector<BoundingGroup> bounding_;
  std::map<Bytes, Seconds> bounds_;  ///< by size
};

}  // namespace trainyard
