#include "sweep/choice.hpp"

#include "run/figures.hpp"
#include "sweep/goal_figures.hpp"
#include "sweep/learning_front.hpp"
#include "sweep/pareto.hpp"
#include "sweep/scaling.hpp"
#include "workload/convergence.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

double or_worst(const std::optional<double>& need) {
  return need.value_or(std::numeric_limits<double>::infinity());
}

/// Quantities that are better the smaller they are.
std::array<double, 4> compared(const Needs& needs) {
  return {or_worst(needs.time_s), or_worst(needs.cost_usd), or_worst(needs.energy_j),
          1 - needs.accuracy.value_or(0)};
}

bool keeps_to(const Goal& goal, double ranks, const std::optional<double>& efficiency, const Needs& needs) {
  if (goal.deadline && or_worst(needs.time_s) > goal.deadline->si()) return false;
  if (goal.budget && or_worst(needs.cost_usd) > goal.budget->si()) return false;
  if (goal.gpus_max && ranks > *goal.gpus_max) return false;
  if (goal.accuracy_min && needs.accuracy.value_or(0) < *goal.accuracy_min) return false;
  return !goal.efficiency_min || efficiency.value_or(0) >= *goal.efficiency_min;
}

bool is_beyond(const SweepResult& result, const SweepRow& row, std::string_view range_figure) {
  const std::optional<double> place = figure_if_stored(result, row, range_figure);
  return place && sweep_name(range_figure, *place) == config::name_of(BatchRange::beyond);
}

/// A time of which `of_steps` has the expected error of the throughput.
std::optional<TimeRange> range_of(const SweepResult& result, const SweepRow& row, double time,
                                  double of_steps) {
  const auto expected = figure_if_stored(result, row, "throughput_samples_per_s");
  const auto low = figure_if_stored(result, row, "throughput_low_samples_per_s");
  const auto high = figure_if_stored(result, row, "throughput_high_samples_per_s");
  if (!expected || !low || !high) return std::nullopt;
  return TimeRange{time + of_steps * (*expected / *high - 1), time + of_steps * (*expected / *low - 1)};
}

/// The interval of the time to a target; `more` comes before and after.
std::optional<TimeRange> range_to_target(const SweepResult& result, const SweepRow& row, double more) {
  const auto low = figure_if_stored(result, row, "time_to_target_low_s");
  const auto high = figure_if_stored(result, row, "time_to_target_high_s");
  if (!low) return std::nullopt;
  return TimeRange{*low + more, high ? std::optional(*high + more) : std::nullopt};
}

std::optional<TimeRange> range_of_job(const SweepResult& result, const SweepRow& row, double time) {
  const auto to_target = figure_if_stored(result, row, "time_to_target_s");
  if (result.sweep.is_of_targets && to_target) return range_to_target(result, row, time - *to_target);
  const auto of_epochs = figure_if_stored(result, row, "job_epochs_time_s");
  return of_epochs ? range_of(result, row, time, *of_epochs) : std::nullopt;
}

std::vector<Needs> needs_of_jobs(const SweepResult& result) {
  std::vector<Needs> all;
  for (const SweepRow& row : result.rows) {
    Needs& needs = all.emplace_back(Needs{.time_s = figure(result, row, "job_time_s"),
                                          .cost_usd = figure(result, row, "job_cost_usd"),
                                          .energy_j = figure(result, row, "job_energy_j")});
    needs.is_rent_assumed = figure_if_stored(result, row, assumed_rent_figure).has_value();
    if (needs.time_s) needs.time_range = range_of_job(result, row, *needs.time_s);
    if (result.sweep.has_accuracy) {
      needs.accuracy = figure_if_stored(result, row, "expected_accuracy");
      needs.accuracy_low = figure_if_stored(result, row, "expected_accuracy_low");
      needs.accuracy_high = figure_if_stored(result, row, "expected_accuracy_high");
    }
    needs.is_beyond = is_beyond(result, row, needs.accuracy ? "accuracy_range" : "samples_range");
  }
  return all;
}

std::optional<double> time_of_epochs(const SweepResult& result, const SweepRow& row) {
  const std::optional<double> epoch = figure(result, row, "epoch_time_s");
  if (!epoch) return std::nullopt;
  const double time = result.sweep.goal.epochs.value_or(1) * *epoch;
  // Samples undone by faults or cancelled work must be processed again.
  const auto goodput = figure(result, row, "goodput_samples_per_s");
  return goodput ? time * figure(result, row, "throughput_samples_per_s").value() / *goodput : time;
}

/// The row with the smallest value of a need; the first of equals, none if no row has a known value.
std::optional<std::size_t> least(const std::vector<std::size_t>& rows, const std::vector<Needs>& needs,
                                 std::optional<double> Needs::*need) {
  std::optional<std::size_t> best;
  for (const std::size_t row : rows) {
    if (needs[row].*need && (!best || *(needs[row].*need) < *(needs[*best].*need))) best = row;
  }
  return best;
}

std::optional<std::size_t> most_accurate(const std::vector<std::size_t>& rows,
                                         const std::vector<Needs>& needs) {
  std::optional<std::size_t> best;
  const auto order = [&](std::size_t row) { return std::pair(*needs[row].accuracy, -*needs[row].time_s); };
  for (const std::size_t row : rows) {
    if (needs[row].accuracy && (!best || order(row) > order(*best))) best = row;
  }
  return best;
}

}  // namespace

bool is_of_learners(const SweepResult& result) {
  const Sweep& sweep = result.sweep;
  if (!sweep.has_learning || sweep.is_of_jobs || sweep.goal.epochs) return false;
  // Set for a learner with a target, whether it gets there or not.
  constexpr const char* share = "to_target_interval_share";
  if (!has_figure(result, share)) return false;
  return std::ranges::any_of(result.rows,
                             [&](const SweepRow& row) { return figure(result, row, share).has_value(); });
}

std::vector<Needs> needs_of(const SweepResult& result) {
  if (result.sweep.is_of_jobs) return needs_of_jobs(result);
  constexpr double hour = 3600;
  const bool is_of_learning = is_of_learners(result);
  std::vector<Needs> all;
  for (const SweepRow& row : result.rows) {
    Needs& needs = all.emplace_back();
    needs.is_rent_assumed = figure_if_stored(result, row, assumed_rent_figure).has_value();
    needs.time_s = is_of_learning ? figure(result, row, "time_to_target_s") : time_of_epochs(result, row);
    if (!needs.time_s) continue;
    needs.time_range = is_of_learning ? range_to_target(result, row, 0)
                                      : range_of(result, row, *needs.time_s, *needs.time_s);
    if (const auto rent = figure(result, row, "rent_usd_per_h"))
      needs.cost_usd = *rent * *needs.time_s / hour;
    if (const auto power = figure(result, row, "average_power_w")) needs.energy_j = *power * *needs.time_s;
  }
  return all;
}

Choice choose(const SweepResult& result, const std::vector<Needs>& needs) {
  const std::vector<std::optional<double>> efficiency = efficiencies(result);
  std::vector<std::size_t> allowed;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    if (!needs[i].time_s) continue;
    const double ranks = figure(result, result.rows[i], "ranks").value();
    if (keeps_to(result.sweep.goal, ranks, efficiency[i], needs[i]) &&
        keeps_to_bounds(result, result.rows[i]))
      allowed.push_back(i);
  }
  Choice choice;
  choice.fastest = least(allowed, needs, &Needs::time_s);
  choice.cheapest = least(allowed, needs, &Needs::cost_usd);
  choice.least_energy = least(allowed, needs, &Needs::energy_j);
  choice.most_accurate = most_accurate(allowed, needs);
  // Sorted by time, then cost, energy and accuracy, every row stands after all rows that beat it.
  std::ranges::stable_sort(allowed, {}, [&](std::size_t row) { return compared(needs[row]); });
  for (const std::size_t row : allowed) {
    const auto is_beaten_by = [&](std::size_t other) {
      return beats(compared(needs[other]), compared(needs[row]));
    };
    if (std::ranges::none_of(choice.pareto, is_beaten_by)) choice.pareto.push_back(row);
  }
  return choice;
}

}  // namespace trainyard
