#pragma once
// The answer of a plan: the best point of all groups, those that may be as good, and what the search has
// shown of all others.

#include "plan/plan_search.hpp"
#include "sweep/choice.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// What a point costs: of the whole training if its length is known, otherwise per sample.
struct PlanCosts {
  double time_s = 0;
  std::optional<double> usd = {};
  std::optional<double> energy_j = {};
};

/// The best known of all layouts with these numbers of tensor ranks and stages, in the group of the best
/// plan.
struct LayoutCell {
  int tensor = 1;
  int pipeline = 1;
  std::optional<std::size_t> row = {};  ///< the fastest that was simulated
  std::optional<double> step_s = {};    ///< its step
  std::optional<double> bound_s = {};   ///< no layout that was not simulated is faster; empty: there is none
};

struct PlanAnswer {
  PlanSpace space;
  SweepResult result;  ///< the simulated points
  std::vector<GroupSearch> searches;
  std::vector<PlanCosts> costs;                           ///< by row; zero for failed ones
  bool is_of_training = false;                            ///< costs are those of a whole training
  std::vector<std::optional<std::size_t>> best_of_group;  ///< rows
  std::optional<std::size_t> best;                        ///< row; empty: none keeps to the limits
  std::vector<std::size_t>
      front;  ///< rows of best_of_group that no other beats in time, cost, energy and GPUs
  std::vector<std::size_t> others;  ///< rows of the best one's group, best first, without it
  std::vector<LayoutCell> cells;    ///< by tensor, then pipeline
};

/// Throws InputError if the goal or a limit needs what is not known: a price, a power, the length of the
/// training.
PlanAnswer plan_answer(PlanSpace space, PlanOutcome outcome);

/// Whether 80 % of comparable published runs leave open which of two rows is faster: their intervals overlap.
/// False where an interval is unknown.
bool is_tie(const SweepResult& result, std::size_t best, std::size_t other);

/// The settings of a point, to be given to `run` for the plan's experiment. Without those that change
/// nothing.
Overrides settings_of(const PlanSpace& space, std::size_t point);

}  // namespace trainyard
