#include "plan/plan_answer.hpp"

#include "sweep/pareto.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <utility>

namespace trainyard {

namespace {

constexpr double hour = 3600;

double or_worst(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::infinity());
}

/// The row with the least value in each draw.
class LeastOfDraws {
public:
  void add(std::size_t row, std::vector<double> values) {
    if (rows_.empty()) {
      rows_.assign(values.size(), row);
      least_ = std::move(values);
      return;
    }
    for (std::size_t draw = 0; draw < values.size(); ++draw) {
      if (values[draw] >= least_[draw]) continue;
      least_[draw] = values[draw];
      rows_[draw] = row;
    }
  }

  /// The share of the draws in which it is this row.
  [[nodiscard]] double share_of(std::size_t row) const {
    return static_cast<double>(std::ranges::count(rows_, row)) / static_cast<double>(rows_.size());
  }

private:
  std::vector<std::size_t> rows_;  ///< by draw
  std::vector<double> least_;
};

class AnswerMaker {
public:
  AnswerMaker(PlanSpace space, PlanOutcome outcome)
      : goal_(space.request.settings.goal), limits_(space.sweep.goal) {
    answer_.space = std::move(space);
    answer_.space.bounds = std::move(outcome.bounds);
    answer_.result = std::move(outcome.result);
    answer_.searches = std::move(outcome.searches);
  }

  PlanAnswer make() {
    count_costs();
    if (answer_.space.randomness) count_draws();
    find_best_of_groups();
    require_known();
    find_best();
    find_front();
    if (answer_.best) {
      rank_others();
      if (goal_ == PlanGoal::cost) find_turn();
      find_cells();
      if (answer_.robustness) compare_with_best();
    }
    return std::move(answer_);
  }

private:
  [[nodiscard]] bool is_done(std::size_t row) const {
    return answer_.result.rows[row].status == PointStatus::done;
  }

  void count_costs() {
    const SweepResult& result = answer_.result;
    const std::vector<Needs> needs = needs_of(result);
    const auto has_time = [](const Needs& row_needs) { return row_needs.time_s.has_value(); };
    answer_.is_of_training = std::ranges::any_of(needs, has_time);
    answer_.costs.resize(result.rows.size());
    for (std::size_t row = 0; row < result.rows.size(); ++row) {
      if (!is_done(row)) continue;
      PlanCosts& costs = answer_.costs[row];
      if (answer_.is_of_training)
        costs = {.time_s = or_worst(needs[row].time_s),
                 .usd = needs[row].cost_usd,
                 .energy_j = needs[row].energy_j};
      else
        costs = costs_of_sample(result.rows[row]);
    }
  }

  [[nodiscard]] PlanCosts costs_of_sample(const SweepRow& row) const {
    const SweepResult& result = answer_.result;
    const double samples = figure(result, row, "global_batch").value();
    PlanCosts costs{.time_s = figure(result, row, "step_time_s").value() / samples};
    if (const auto rent = figure(result, row, "rent_usd_per_h")) costs.usd = *rent * costs.time_s / hour;
    if (const auto energy = figure(result, row, "energy_per_step_j")) costs.energy_j = *energy / samples;
    return costs;
  }

  /// The searched figure of a row in each draw. Requires a quantile of it.
  [[nodiscard]] std::vector<double> drawn_values(std::size_t row) const {
    const PlanSpace& space = answer_.space;
    const SweepRow& sweep_row = answer_.result.rows[row];
    const PlanRandomness& randomness = *space.randomness;
    return randomness.draws.values(group_of(row), drawn_figure(space, answer_.result, sweep_row).value(),
                                   randomness.common[group_of(row)].share,
                                   fmt::format("{}", fmt::join(space.sweep.points[sweep_row.point], ",")));
  }

  void count_draws() {
    const PlanSpace& space = answer_.space;
    const SweepResult& result = answer_.result;
    PlanRobustness& robust = answer_.robustness.emplace();
    robust.quantiles.resize(result.rows.size());
    robust.fastest_shares.resize(result.rows.size());
    std::vector<LeastOfDraws> least(space.groups.size());
    for (std::size_t row = 0; row < result.rows.size(); ++row) {
      const SweepRow& sweep_row = result.rows[row];
      robust.quantiles[row] = searched_value(space, result, sweep_row).value_or(0);
      if (robust.quantiles[row] > 0) least[group_of(row)].add(row, drawn_values(row));
    }
    for (std::size_t row = 0; row < result.rows.size(); ++row) {
      if (robust.quantiles[row] > 0) robust.fastest_shares[row] = least[group_of(row)].share_of(row);
    }
  }

  /// Costs at the quantile of the draws; as predicted without a quantile. Time and rent are in proportion to
  /// the step time, energy to the energy of a step. Draws vary one of these two; the other stays as
  /// predicted.
  [[nodiscard]] PlanCosts compared_costs(std::size_t row) const {
    PlanCosts costs = answer_.costs[row];
    if (!answer_.robustness) return costs;
    const auto nominal = figure(answer_.result, answer_.result.rows[row], searched_figure(answer_.space));
    if (!nominal || *nominal <= 0) return costs;
    const double ratio = answer_.robustness->quantiles[row] / *nominal;
    if (goal_ == PlanGoal::energy) {
      if (costs.energy_j) *costs.energy_j *= ratio;
      return costs;
    }
    costs.time_s *= ratio;
    if (costs.usd) *costs.usd *= ratio;
    return costs;
  }

  /// The cost that the goal minimises.
  [[nodiscard]] std::optional<double> goal_of(std::size_t row) const {
    const PlanCosts costs = compared_costs(row);
    if (goal_ == PlanGoal::cost) return costs.usd;
    if (goal_ == PlanGoal::energy) return costs.energy_j;
    return costs.time_s;
  }

  void find_best_of_groups() {
    for (const GroupSearch& search : answer_.searches) {
      std::optional<std::size_t>& best = answer_.best_of_group.emplace_back();
      const auto row = std::ranges::find(answer_.result.rows, search.best.value_or(none), &SweepRow::point);
      if (row != answer_.result.rows.end())
        best = static_cast<std::size_t>(row - answer_.result.rows.begin());
    }
  }

  void require_known() const {
    const auto lacks = [&](auto known) {
      bool has_any = false;
      for (const std::optional<std::size_t>& row : answer_.best_of_group) {
        if (row && known(*row)) return false;
        has_any = has_any || row.has_value();
      }
      return has_any;
    };
    if ((limits_.deadline || limits_.budget) && !answer_.is_of_training)
      throw InputError("a deadline or a budget needs the length of the training",
                       "--epochs 90, --target, or --set job.steps=300000");
    if (limits_.budget && lacks([&](std::size_t row) { return answer_.costs[row].usd.has_value(); }))
      throw InputError("a budget needs a price, which the machine does not state");
  }

  [[nodiscard]] bool keeps_to_limits(std::size_t row) const {
    const PlanCosts costs = compared_costs(row);
    const bool is_late = limits_.deadline && costs.time_s > limits_.deadline->si();
    const bool is_dear = limits_.budget && or_worst(costs.usd) > limits_.budget->si();
    return !is_late && !is_dear;
  }

  void find_best() {
    for (const std::optional<std::size_t>& row : answer_.best_of_group) {
      if (!row || !goal_of(*row) || !keeps_to_limits(*row)) continue;
      if (!answer_.best || *goal_of(*row) < *goal_of(*answer_.best)) answer_.best = row;
    }
  }

  /// Quantities that are better the smaller they are.
  [[nodiscard]] std::array<double, 4> compared(std::size_t row) const {
    const PlanCosts costs = compared_costs(row);
    return {costs.time_s, or_worst(costs.usd), or_worst(costs.energy_j),
            static_cast<double>(answer_.space.groups[group_of(row)].gpus)};
  }

  void find_front() {
    for (const std::optional<std::size_t>& row : answer_.best_of_group) {
      if (!row) continue;
      const auto is_beaten = [&](const std::optional<std::size_t>& other) {
        return other && beats(compared(*other), compared(*row));
      };
      if (std::ranges::none_of(answer_.best_of_group, is_beaten)) answer_.front.push_back(*row);
    }
  }

  [[nodiscard]] std::size_t group_of(std::size_t row) const {
    return answer_.space.bounds[answer_.result.rows[row].point].group;
  }

  void rank_others() {
    const std::size_t group = group_of(*answer_.best);
    for (std::size_t row = 0; row < answer_.result.rows.size(); ++row) {
      if (row != *answer_.best && is_done(row) && group_of(row) == group) answer_.others.push_back(row);
    }
    std::ranges::stable_sort(answer_.others, {}, [&](std::size_t row) { return or_worst(goal_of(row)); });
  }

  /// Only the prices change: all plans of a machine become dearer alike, and each keeps its step.
  void find_turn() {
    std::optional<std::size_t> other;
    for (const std::optional<std::size_t>& row : answer_.best_of_group) {
      if (!row || !goal_of(*row) || !keeps_to_limits(*row)) continue;
      if (machine_of(*row) == machine_of(*answer_.best)) continue;
      if (!other || *goal_of(*row) < *goal_of(*other)) other = row;
    }
    if (!other) return;
    const double ratio = *goal_of(*other) / *goal_of(*answer_.best);
    const double best_usd = node_price(answer_, *answer_.best);
    const double other_usd = node_price(answer_, *other);
    answer_.turn = {.other = *other,
                    .best_usd = best_usd,
                    .best_turns_usd = best_usd * ratio,
                    .other_usd = other_usd,
                    .other_turns_usd = other_usd / ratio};
  }

  [[nodiscard]] const std::string& machine_of(std::size_t row) const {
    return answer_.space.groups[group_of(row)].platform;
  }

  void compare_with_best() {
    PlanRobustness& robust = *answer_.robustness;
    robust.ahead_shares.resize(answer_.result.rows.size());
    const std::vector<double> best = drawn_values(*answer_.best);
    for (const std::size_t row : answer_.others) {
      if (robust.quantiles[row] <= 0) continue;
      const std::vector<double> drawn = drawn_values(row);
      std::size_t ahead = 0;
      for (std::size_t draw = 0; draw < drawn.size(); ++draw) ahead += drawn[draw] < best[draw] ? 1 : 0;
      robust.ahead_shares[row] = static_cast<double>(ahead) / static_cast<double>(drawn.size());
    }
    find_nominal();
  }

  void find_nominal() {
    const auto nominal = [&](std::size_t row) {
      return or_worst(figure(answer_.result, answer_.result.rows[row], searched_figure(answer_.space)));
    };
    std::size_t least = *answer_.best;
    for (const std::size_t row : answer_.others) {
      if (nominal(row) < nominal(least)) least = row;
    }
    answer_.robustness->nominal = least;
  }

  void find_cells() {
    const std::size_t group = group_of(*answer_.best);
    std::map<PlanPlace, LayoutCell> cells;
    std::map<std::size_t, std::size_t> row_of_point;
    for (std::size_t row = 0; row < answer_.result.rows.size(); ++row)
      row_of_point.emplace(answer_.result.rows[row].point, row);
    for (std::size_t point = 0; point < answer_.space.bounds.size(); ++point) {
      const PointBound& bound = answer_.space.bounds[point];
      if (bound.group != group) continue;
      const Parallelism& layout = answer_.space.layouts[point].parallelism;
      LayoutCell& cell = cells[{layout.tensor, layout.pipeline}];
      cell.tensor = layout.tensor;
      cell.pipeline = layout.pipeline;
      const auto row = row_of_point.find(point);
      if (row == row_of_point.end())
        cell.bound = std::min(or_worst(cell.bound),
                              least_factor(answer_.space, point) * searched_bound(answer_.space, bound));
      else
        add_row(cell, row->second);
    }
    for (const auto& [place, cell] : cells) answer_.cells.push_back(cell);
    for (const PlanPlace& place : answer_.space.groups[group].too_large_at) {
      if (!cells.contains(place)) answer_.full.push_back(place);
    }
  }

  void add_row(LayoutCell& cell, std::size_t row) const {
    if (!is_done(row)) return;
    const double value = compared_value(answer_, row);
    if (value >= or_worst(cell.value)) return;
    cell.value = value;
    cell.row = row;
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  PlanAnswer answer_;
  PlanGoal goal_;
  Goal limits_;
};

/// Values that a job without a file has without being told.
bool changes_nothing(const std::string& key, const std::string& value) {
  if (key == "parallelism.sequence" || key == "parallelism.unequal_stages") return value == "false";
  if (key == "parallelism.recompute" || key == "parallelism.shard") return value == "none";
  if (key == "accumulation") return value == "1";
  return key.starts_with("parallelism.") && value == "1";
}

}  // namespace

PlanAnswer plan_answer(PlanSpace space, PlanOutcome outcome) {
  return AnswerMaker(std::move(space), std::move(outcome)).make();
}

double node_price(const PlanAnswer& answer, std::size_t row) {
  const SweepRow& sweep_row = answer.result.rows[row];
  return figure(answer.result, sweep_row, "rent_usd_per_h").value() /
         answer.space.groups[answer.space.bounds[sweep_row.point].group].nodes;
}

double compared_value(const PlanAnswer& answer, std::size_t row) {
  if (answer.robustness) return answer.robustness->quantiles[row];
  return searched_value(answer.space, answer.result, answer.result.rows[row]).value_or(0);
}

double goal_figure(const PlanAnswer& answer, double value) {
  if (answer.space.request.settings.goal != PlanGoal::cost) return value;
  const SweepRow& best = answer.result.rows[*answer.best];
  return value * figure(answer.result, best, "rent_usd_per_h").value() / hour /
         figure(answer.result, best, "global_batch").value();
}

std::string goal_figure_name(const PlanSpace& space) {
  const std::string name =
      space.request.settings.goal == PlanGoal::cost ? "sample_cost_usd" : searched_figure(space);
  return space.randomness ? "quantile_" + name : name;
}

bool is_tie(const SweepResult& result, std::size_t best, std::size_t other) {
  const auto low = figure(result, result.rows[best], "throughput_low_samples_per_s");
  const auto high = figure(result, result.rows[other], "throughput_high_samples_per_s");
  return low && high && *high >= *low;
}

Overrides settings_of(const PlanSpace& space, std::size_t point) {
  Overrides set = space.request.set;
  for (std::size_t i = 0; i < space.sweep.keys.size(); ++i) {
    const std::string& value = space.sweep.points[point][i];
    const std::string& key = space.sweep.keys[i];
    if (value == default_value) continue;
    if (space.request.experiment == no_file && changes_nothing(key, value)) continue;
    std::erase_if(set, [&](const auto& entry) { return entry.first == key; });
    set.emplace_back(key, value);
  }
  return set;
}

}  // namespace trainyard
