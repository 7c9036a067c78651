#pragma once
// Runs the search of a plan: wave after wave of points in worker processes, each result kept in a store.

#include "plan/plan_answer.hpp"
#include "plan/plan_search.hpp"
#include "sweep/sweep_store.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

struct PlanRun {
  int parallel = 1;                           ///< number of concurrent workers
  std::function<bool()> is_interrupted = {};  ///< called before each point; if true, no more are begun
  std::vector<std::size_t> first = {};        ///< points to begin with, at most one of a group
};

/// The common properties of the store for this plan, as this version of the program writes it.
StoredSweep stored_plan(const PlanSpace& space);

/// Looks for the best among `points`. `store`: of the plan. Points that it has are not simulated
/// again. A search for a quantile looks for the best as predicted before. Throws as run_points() and
/// SweepStore::add().
PlanOutcome search_plan(const config::Catalogue& catalogue, const PlanSpace& space,
                        std::span<const std::size_t> points, SweepStore& store, const PlanRun& run);

/// The best plan of a machine whose NICs are a tenth slower, and of one whose GPUs have a tenth less memory:
/// is the best layout of `answer` still the best? Searched again among the layouts of its group, without new
/// verdicts: with a tenth less of the memory that is available all points keep their times. Requires a best
/// plan. A search that is interrupted is left out, and so are those after it.
struct PlanChange {
  std::string change;                     ///< "NICs a tenth slower (22.5 GB/s in place of 25 GB/s)"
  std::optional<PlanLayout> layout = {};  ///< of the best plan then; empty: none fits
  bool is_same = false;                   ///< the layout is still the best
  double step_s = 0;                      ///< its step
};
std::vector<PlanChange> plan_changes(const config::Catalogue& catalogue, const PlanAnswer& answer,
                                     const PlanRun& run);

}  // namespace trainyard
