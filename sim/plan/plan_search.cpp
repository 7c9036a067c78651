#include "plan/plan_search.hpp"

#include "sweep/point_figures.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

void lower(std::optional<double>& least, double bound) { least = std::min(least.value_or(bound), bound); }

void keep_best_two(double value, std::size_t point, GroupSearch& search) {
  if (search.best && std::pair(search.value, *search.best) < std::pair(value, point)) {
    search.second = std::min(search.second.value_or(value), value);
    return;
  }
  if (search.best) search.second = search.value;
  search.best = point;
  search.value = value;
}

}  // namespace

const char* searched_figure(const PlanSpace& space) {
  return space.request.settings.goal == PlanGoal::energy ? "energy_per_step_j" : "step_time_s";
}

double searched_bound(const PlanSpace& space, const PointBound& bound) {
  return space.request.settings.goal == PlanGoal::energy ? bound.energy_j.value_or(0) : bound.step_s;
}

std::string quantile_figure(const PlanSpace& space) {
  return std::string("quantile_") + searched_figure(space);
}

std::vector<std::string> figures_of_plan(const PlanSpace& space) {
  std::vector<std::string> figures = figures_of_points(space.sweep);
  if (space.randomness) {
    for (const char* const name : {slow_step_figure, slow_energy_figure}) figures.emplace_back(name);
  }
  return figures;
}

std::optional<DrawnFigure> drawn_figure(const PlanSpace& space, const SweepResult& result,
                                        const SweepRow& row) {
  if (row.status != PointStatus::done) return std::nullopt;
  const bool is_energy = space.request.settings.goal == PlanGoal::energy;
  const auto nominal = figure(result, row, searched_figure(space));
  const auto slow = figure(result, row, is_energy ? slow_energy_figure : slow_step_figure);
  if (!nominal || !slow) return std::nullopt;
  return DrawnFigure{.nominal = *nominal, .slow = *slow, .error = space.randomness->errors[row.point]};
}

std::optional<double> searched_value(const PlanSpace& space, const SweepResult& result, const SweepRow& row) {
  if (row.status != PointStatus::done) return std::nullopt;
  if (!space.randomness) return figure(result, row, searched_figure(space));
  const std::optional<DrawnFigure> drawn = drawn_figure(space, result, row);
  if (!drawn) return std::nullopt;
  return space.randomness->draws.quantile_of(space.bounds[row.point].group, *drawn);
}

double least_factor(const PlanSpace& space, std::size_t point) {
  if (!space.randomness) return 1;
  return space.randomness->draws.least_factor(space.bounds[point].group, space.randomness->errors[point]);
}

PlanSearch::PlanSearch(const PlanSpace& space, std::span<const std::size_t> points,
                       std::span<const std::size_t> first)
    : space_(space),
      bounds_(space.bounds),
      factors_(space.bounds.size(), 1),
      open_(space.groups.size()),
      searches_(space.groups.size()) {
  for (const std::size_t point : points) factors_[point] = least_factor(space, point);
  for (const std::size_t point : points) open_[space.bounds[point].group].push_back(point);
  const auto is_later = [&](std::size_t point) { return std::ranges::find(first, point) == first.end(); };
  for (std::vector<std::size_t>& open : open_)
    std::ranges::sort(open, [&](std::size_t a, std::size_t b) {
      return std::tuple(is_later(a), bound_of(a), a) > std::tuple(is_later(b), bound_of(b), b);
    });
}

double PlanSearch::bound_of(std::size_t point) const {
  return factors_[point] * searched_bound(space_, bounds_[point]);
}

/// The value that a point must beat: the second best so far, or with a gap the best reduced by that share.
std::optional<double> PlanSearch::bar(const GroupSearch& search) const {
  const double gap = space_.request.settings.gap;
  if (!search.best || gap == 0) return search.second;
  return search.value * (1 - gap);
}

bool PlanSearch::is_worth(std::size_t point, const GroupSearch& search) const {
  const std::optional<double> highest = bar(search);
  return !highest || bound_of(point) < *highest;
}

std::vector<std::size_t> PlanSearch::next_wave() {
  std::vector<std::size_t> wave;
  for (std::size_t group = 0; group < open_.size(); ++group) {
    std::vector<std::size_t>& open = open_[group];
    GroupSearch& search = searches_[group];
    for (std::size_t i = 0; i < wave_size_ && !open.empty(); ++i) {
      if (!is_worth(open.back(), search)) {
        lower(search.least_open, bound_of(open.back()));
        search.bounded += open.size();
        open.clear();
        break;
      }
      wave.push_back(open.back());
      open.pop_back();
    }
  }
  wave_size_ = std::min(2 * wave_size_, points_of_wave);
  wave_ = wave;
  return wave;
}

void PlanSearch::stop() {
  for (const std::size_t point : wave_) open_[space_.bounds[point].group].push_back(point);
  for (std::size_t group = 0; group < open_.size(); ++group) {
    GroupSearch& search = searches_[group];
    for (const std::size_t point : open_[group]) {
      lower(search.least_open, bound_of(point));
      ++(is_worth(point, search) ? search.left : search.bounded);
    }
    open_[group].clear();
  }
}

std::optional<Seconds> PlanSearch::limit(std::size_t point) const {
  if (space_.request.settings.goal == PlanGoal::energy) return std::nullopt;
  const std::optional<double> highest = bar(searches_[bounds_[point].group]);
  return highest ? std::optional(Seconds{*highest / factors_[point]}) : std::nullopt;
}

bool PlanSearch::takes_early(std::size_t point) {
  return std::erase(open_[space_.bounds[point].group], point) > 0;
}

void PlanSearch::add_bound(std::size_t point, Seconds step) {
  std::erase(wave_, point);
  PointBound& bound = bounds_[point];
  bound.step_s = std::max(bound.step_s, step.si());
  GroupSearch& search = searches_[bound.group];
  ++search.bounded;
  lower(search.least_open, bound_of(point));
  add_step(point, std::nullopt);
}

void PlanSearch::add(const SweepResult& result, const SweepRow& row) {
  std::erase(wave_, row.point);
  GroupSearch& search = searches_[space_.bounds[row.point].group];
  ++search.simulated;
  const std::optional<double> value = searched_value(space_, result, row);
  if (value) {
    keep_best_two(*value, row.point, search);
  } else {
    ++search.failed;
    // One that a limit ended may be better all the same.
    if (row.status != PointStatus::wrong) lower(search.least_open, bound_of(row.point));
  }
  add_step(row.point, value);
}

void PlanSearch::add_step(std::size_t point, std::optional<double> value) {
  const std::size_t group = bounds_[point].group;
  GroupSearch& search = searches_[group];
  search.steps.push_back({.point = point,
                          .value = value,
                          .best = search.best ? std::optional(search.value) : std::nullopt,
                          .least_open = least_open_of(group)});
}

std::optional<double> PlanSearch::least_open_of(std::size_t group) const {
  std::optional<double> least = searches_[group].least_open;
  for (const std::size_t point : wave_) {
    if (space_.bounds[point].group == group) lower(least, bound_of(point));
  }
  if (!open_[group].empty()) lower(least, bound_of(open_[group].back()));
  return least;
}

std::vector<std::size_t> all_points(const PlanSpace& space) {
  std::vector<std::size_t> points(space.bounds.size());
  std::iota(points.begin(), points.end(), std::size_t{0});
  return points;
}

double gap_of(const GroupSearch& search) {
  if (!search.best) return search.left > 0 ? 1 : 0;
  if (!search.least_open || *search.least_open >= search.value) return 0;
  return 1 - *search.least_open / search.value;
}

}  // namespace trainyard
