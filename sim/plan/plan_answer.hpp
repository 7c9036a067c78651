#pragma once
// The answer of a plan: the best point of all groups, the points that may be as good, and the results of the
// search for all others.

#include "plan/plan_search.hpp"
#include "sweep/choice.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The costs of a point: of the whole training if its length is known, otherwise per sample.
struct PlanCosts {
  double time_s = 0;
  std::optional<double> usd = {};
  std::optional<double> energy_j = {};
};

/// The best known of all layouts with these numbers of tensor ranks and stages, in the group of the best
/// plan. Values are those of searched_value(), per step.
struct LayoutCell {
  int tensor = 1;
  int pipeline = 1;
  std::optional<std::size_t> row = {};  ///< the best that was simulated
  std::optional<double> value = {};     ///< its value
  std::optional<double> bound = {};     ///< no layout that was not simulated has less; empty: there is none
};

/// The draws' part of an answer. Values are those of searched_figure(). Layouts that are nearly alike share
/// the draws in which one of them is the fastest; how often one is ahead of the best plan does not depend on
/// others.
struct PlanRobustness {
  std::vector<double> quantiles = {};  ///< by row; zero for failed ones
  std::vector<double> fastest_shares =
      {};                                 ///< by row: of draws in which it has the least of its group's rows
  std::vector<double> ahead_shares = {};  ///< by row of the best one's group: of draws in which it has less
  std::optional<std::size_t> nominal = {};  ///< row of the best one's group that has the least as predicted
};

/// The prices at which the cheapest plan is one on another machine, if all else stays: rents of a node for an
/// hour.
struct PriceTurn {
  std::size_t other = 0;       ///< row: the cheapest on another machine
  double best_usd = 0;         ///< of the best one's machine now
  double best_turns_usd = 0;   ///< above this the other is cheaper
  double other_usd = 0;        ///< of the other's machine now
  double other_turns_usd = 0;  ///< below this the other is cheaper
};

struct PlanAnswer {
  PlanSpace space;
  SweepResult result;  ///< the simulated points
  std::vector<GroupSearch> searches;
  std::vector<PlanCosts> costs;                           ///< by row, as predicted; zero for failed ones
  bool is_of_training = false;                            ///< costs are those of a whole training
  std::vector<std::optional<std::size_t>> best_of_group;  ///< rows
  std::optional<std::size_t> best;                        ///< row; empty: none keeps to the limits
  std::vector<std::size_t>
      front;  ///< rows of best_of_group that no other beats in time, cost, energy and GPUs
  std::vector<std::size_t> others;                ///< rows of the best one's group, best first, without it
  std::optional<PriceTurn> turn = {};             ///< of the goal `cost`, with several machines
  std::vector<LayoutCell> cells;                  ///< of layouts that fit, by tensor, then pipeline
  std::vector<PlanPlace> full;                    ///< where layouts are possible, but none fits
  std::optional<PlanRobustness> robustness = {};  ///< if a quantile is asked for
};

/// Throws InputError if the goal or a limit needs what is not known: a price, a power, the length of the
/// training.
PlanAnswer plan_answer(PlanSpace space, PlanOutcome outcome);

/// The rent of a node for an hour, which the row must have.
double node_price(const PlanAnswer& answer, std::size_t row);

/// The value of a row by which plans of a group are compared, per step: searched_value(). Zero for failed
/// ones.
double compared_value(const PlanAnswer& answer, std::size_t row);

/// A searched_value() in the unit of the goal, in the group of the best plan: seconds or joules of a step, or
/// for the goal `cost` the dollars of a sample, in proportion to the step. Requires a best plan.
double goal_figure(const PlanAnswer& answer, double value);

/// The name of that figure: "step_time_s", "energy_per_step_j", "sample_cost_usd"; of a quantile
/// "quantile_step_time_s".
std::string goal_figure_name(const PlanSpace& space);

/// Whether 80 % of comparable published runs leave open which of two rows is faster: their intervals overlap.
/// False where an interval is unknown.
bool is_tie(const SweepResult& result, std::size_t best, std::size_t other);

/// The settings of a point, to be given to `run` for the plan's experiment. Without those that change
/// nothing.
Overrides settings_of(const PlanSpace& space, std::size_t point);

}  // namespace trainyard
