#pragma once
// Branch and bound over the points of a plan: the layouts of each group are simulated in the order of their
// lower bounds, until the bound of the next is above the best two that were found. These are then the best
// two of their group.

#include "plan/plan_space.hpp"
#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// The state of a group's search after a point was planned or simulated: the goal's figure per step, or its
/// quantile (searched_value).
struct SearchStep {
  std::size_t point = 0;
  std::optional<double> value = {};       ///< of the point; empty: it failed, or was planned and left out
  std::optional<double> best = {};        ///< least value so far
  std::optional<double> least_open = {};  ///< the least bound of the points that were not simulated yet
};

/// How far the search of a group came.
struct GroupSearch {
  std::optional<std::size_t> best = {};  ///< the point with least of the goal
  double value = 0;                      ///< searched_value() of that point, per step
  std::optional<double> second = {};     ///< the next best value
  std::size_t simulated = 0;
  std::size_t failed = 0;                 ///< of them, that ended with an error
  std::size_t bounded = 0;                ///< whose bound says that they are not among the best two
  std::size_t left = 0;                   ///< of an interrupted search: that might be among them
  std::optional<double> least_open = {};  ///< the least bound of a point that was not simulated
  /// A step for each planned or simulated point, in the order of the search: the same whatever the number of
  /// processes, also if the search was continued.
  std::vector<SearchStep> steps = {};
};

/// The figure that the search has least of in each group: "step_time_s", or "energy_per_step_j" if energy is
/// the goal.
const char* searched_figure(const PlanSpace& space);

/// The lower bound of the searched figure as predicted: 0 if it is unknown.
double searched_bound(const PlanSpace& space, const PointBound& bound);

/// The names of the figures that the draws of a quantile need, besides those that all points have: the step
/// and the energy with a slow slowest GPU (GroupSpeeds::slow()).
inline constexpr const char* slow_step_figure = "slow_gpu_step_time_s";
inline constexpr const char* slow_energy_figure = "slow_gpu_energy_per_step_j";

/// The names of a point's figures.
std::vector<std::string> figures_of_plan(const PlanSpace& space);

/// The value that the search minimises, at a simulated point: the searched figure, or its quantile. Empty
/// where the figure is unknown.
std::optional<double> searched_value(const PlanSpace& space, const SweepResult& result, const SweepRow& row);

/// The searched figure of a row as the draws need it. Requires a space with draws.
std::optional<DrawnFigure> drawn_figure(const PlanSpace& space, const SweepResult& result,
                                        const SweepRow& row);

/// The value is at least a lower bound of the searched figure times this: 1 without draws.
double least_factor(const PlanSpace& space, std::size_t point);

/// The name of the quantile of the searched figure: "quantile_step_time_s".
std::string quantile_figure(const PlanSpace& space);

/// The outcome of a search.
struct PlanOutcome {
  SweepResult result;
  std::vector<GroupSearch> searches;
  std::vector<PointBound> bounds;   ///< of the space, raised where a point was planned but not simulated
  std::vector<std::string> broken;  ///< points that ended with an internal error or died
  bool is_interrupted = false;
};

class PlanSearch {
public:
  /// Keeps a reference to `space`. `points`: those among which the best is looked for. `first`: those that
  /// are probably the best, at most one of a group: simulated before all others if they are among them.
  PlanSearch(const PlanSpace& space, std::span<const std::size_t> points,
             std::span<const std::size_t> first = {});

  /// The points to simulate next, none at the end. A wave has a few of each group, at first two, since its
  /// results decide which points the next wave leaves out. Does not depend on the number of processes.
  std::vector<std::size_t> next_wave();

  /// The step that a point must be below to count in its group; empty: there is none yet, or something else
  /// than time counts.
  [[nodiscard]] std::optional<Seconds> limit(std::size_t point) const;

  /// The result of a point of the last wave: its searched_value() counts.
  void add(const SweepResult& result, const SweepRow& row);

  /// Whether add() may follow for a point that no wave had yet, which then leaves the open ones.
  bool takes_early(std::size_t point);

  /// No simulation of this point of the last wave would have a shorter step, which is above its limit.
  void add_bound(std::size_t point, Seconds step);

  /// The space's bounds, with those that were added.
  [[nodiscard]] const std::vector<PointBound>& bounds() const { return bounds_; }

  /// Ends an interrupted search: points that were not simulated may be as good as their bounds.
  void stop();

  [[nodiscard]] const std::vector<GroupSearch>& groups() const { return searches_; }

private:
  static constexpr std::size_t points_of_first_wave = 2;
  static constexpr std::size_t points_of_wave = 8;

  [[nodiscard]] double bound_of(std::size_t point) const;
  [[nodiscard]] std::optional<double> least_open_of(std::size_t group) const;
  void add_step(std::size_t point, std::optional<double> value);
  [[nodiscard]] std::optional<double> bar(const GroupSearch& search) const;
  [[nodiscard]] bool is_worth(std::size_t point, const GroupSearch& search) const;

  const PlanSpace& space_;
  std::vector<PointBound> bounds_;                ///< by point
  std::vector<double> factors_;                   ///< by point: least_factor()
  std::size_t wave_size_ = points_of_first_wave;  ///< points of a group in the next wave
  std::vector<std::vector<std::size_t>> open_;    ///< by group: points by falling bound, the next one last
  std::vector<GroupSearch> searches_;             ///< by group
  std::vector<std::size_t> wave_;                 ///< points of the last wave without a result
};

/// The numbers of all points.
std::vector<std::size_t> all_points(const PlanSpace& space);

/// Share by which the best point of a group may miss its optimum: 0 if it is proved, 1 if points are left and
/// none has a result.
double gap_of(const GroupSearch& search);

}  // namespace trainyard
