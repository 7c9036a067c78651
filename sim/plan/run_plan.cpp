#include "plan/run_plan.hpp"

#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "sweep/point_figures.hpp"
#include "sweep/read_point.hpp"
#include "sweep/run_sweep.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>

namespace trainyard {

namespace {

/// The search of one plan.
class Search {
public:
  Search(const config::Catalogue& catalogue, const PlanSpace& space, std::span<const std::size_t> points,
         SweepStore& store, const PlanRun& run)
      : catalogue_(catalogue), space_(space), points_(points), store_(store), run_(run) {}

  PlanOutcome outcome() {
    for (SweepRow& row : store_.rows()) finished_.emplace(row.point, std::move(row));
    PlanOutcome outcome;
    std::vector<std::size_t> first = run_.first;
    if (space_.randomness && first.empty()) first = best_as_predicted(outcome);
    search(space_, first, outcome);
    std::ranges::sort(outcome.result.rows, {}, &SweepRow::point);
    outcome.searches = search_->groups();
    outcome.bounds = search_->bounds();
    return outcome;
  }

private:
  /// The best point of each group without draws. A search for a quantile begins with these points, which
  /// shows how much the best plan as predicted loses. Nothing else of this search is kept except results of
  /// points that are needed again, so the search for the quantile does not depend on how often it was
  /// continued.
  std::vector<std::size_t> best_as_predicted(PlanOutcome& outcome) {
    PlanSpace predicted = space_;
    predicted.randomness.reset();
    search(predicted, {}, outcome);
    outcome.result.rows.clear();
    std::erase_if(finished_,
                  [&](const auto& run) { return bound_alone(outcome.result, run.second).has_value(); });
    std::vector<std::size_t> best;
    for (const GroupSearch& group : search_->groups()) {
      if (group.best) best.push_back(*group.best);
    }
    return best;
  }

  /// `space`: that of this search, or the same without draws.
  void search(const PlanSpace& space, std::span<const std::size_t> first, PlanOutcome& outcome) {
    search_.emplace(space, points_, first);
    outcome.result = {.sweep = space_.sweep, .figures = figures_of_plan(space_), .rows = {}};
    for (std::vector<std::size_t> wave = search_->next_wave(); !wave.empty(); wave = search_->next_wave()) {
      simulate_wave(wave, outcome);
      take_results(wave, outcome.result);
      if (outcome.is_interrupted || !outcome.broken.empty()) break;
    }
    if (outcome.is_interrupted) take_early(outcome.result);
    search_->stop();
  }

  void take_results(const std::vector<std::size_t>& wave, SweepResult& result) {
    for (const std::size_t point : wave) {
      const auto row = finished_.find(point);
      if (row == finished_.end()) continue;
      if (const auto bound = bound_alone(result, row->second)) {
        search_->add_bound(point, *bound);
      } else {
        search_->add(result, row->second);
        result.rows.push_back(row->second);
      }
    }
  }

  /// Takes the points that were simulated before an interruption, wherever the search was.
  void take_early(SweepResult& result) {
    for (const auto& [point, row] : finished_) {
      if (bound_alone(result, row) || !search_->takes_early(point)) continue;
      search_->add(result, row);
      result.rows.push_back(row);
    }
  }

  void simulate_wave(const std::vector<std::size_t>& wave, PlanOutcome& outcome) {
    std::vector<std::size_t> left;
    for (const std::size_t point : wave) {
      if (!finished_.contains(point)) left.push_back(point);
    }
    if (left.empty()) return;
    SweepRun run{
        .parallel = run_.parallel,
        .figures = [&](std::size_t point,
                       ResolvedExperiment resolved) { return figures_of(point, std::move(resolved)); },
        .done =
            [&](const SweepRow& row, const std::vector<std::string>& files) {
              if (!bound_alone(outcome.result, row)) store_.add(row, files);
              finished_.emplace(row.point, row);
            },
        .is_interrupted = run_.is_interrupted};
    SweepOutcome ended = run_points(catalogue_, space_.sweep, left, run);
    outcome.is_interrupted = ended.is_interrupted;
    for (std::string& point : ended.broken) outcome.broken.push_back(std::move(point));
  }

  /// A point that cannot be among the best two has nothing but its bound.
  [[nodiscard]] std::vector<std::optional<double>> figures_of(std::size_t point,
                                                              ResolvedExperiment resolved) const {
    if (const auto limit = search_->limit(point)) {
      const Seconds least = least_step(resolved);
      if (least >= *limit) {
        std::vector<std::optional<double>> figures;
        for (const std::string& name : figures_of_plan(space_))
          figures.push_back(name == bound_figure ? std::optional(least.si()) : std::nullopt);
        return figures;
      }
    }
    if (!space_.randomness) return simulated_figures(space_.sweep, std::move(resolved));
    const std::vector<double> slow = slow_figures(point, resolved);
    std::vector<std::optional<double>> figures = simulated_figures(space_.sweep, std::move(resolved));
    for (const double one : slow) figures.push_back(one > 0 ? std::optional(one) : std::nullopt);
    return figures;
  }

  /// Step and energy with a slow slowest GPU; no energy: 0. In a child, and first: SimGrid simulates once in
  /// a process, and no more in its children.
  [[nodiscard]] std::vector<double> slow_figures(std::size_t point,
                                                 const ResolvedExperiment& resolved) const {
    const auto make = [&](int) {
      ResolvedExperiment slowed = resolved;
      slowed.stack.slowest_gpu = space_.randomness->draws.speeds(space_.bounds[point].group).slow();
      const Run run = simulate(std::move(slowed), {.timeline = false, .rows = false});
      return packed({run.pace.time.si(), run.energy ? run.energy->per_step.si() : 0});
    };
    return unpacked(in_children(1, 1, make).front());
  }

  /// The bound of a point that was not simulated.
  static std::optional<Seconds> bound_alone(const SweepResult& result, const SweepRow& row) {
    if (row.status != PointStatus::done || figure(result, row, "step_time_s")) return std::nullopt;
    const std::optional<double> bound = figure(result, row, bound_figure);
    return bound ? std::optional(Seconds{*bound}) : std::nullopt;
  }

  static constexpr const char* bound_figure = "lower_bound_s";

  const config::Catalogue& catalogue_;
  const PlanSpace& space_;
  std::span<const std::size_t> points_;
  SweepStore& store_;
  const PlanRun& run_;
  std::optional<PlanSearch> search_;          ///< the last one
  std::map<std::size_t, SweepRow> finished_;  ///< by point
};

/// The search among the points of one group, on a machine that is a little different.
class Changes {
public:
  Changes(const config::Catalogue& catalogue, const PlanAnswer& answer, PlanRun run)
      : catalogue_(catalogue),
        answer_(answer),
        run_(std::move(run)),
        best_(answer.result.rows[*answer.best].point) {
    run_.first = {best_};
  }

  /// Planned or simulated steps do not tell: NCCL may choose better for slower NICs. The judge's bounds
  /// contain no choice between nodes, so slower NICs do not lower them.
  [[nodiscard]] std::optional<PlanChange> slower_nics(Bandwidth nic, Bandwidth changed) const {
    PlanSpace space = answer_.space;
    set_for_all("platform.fabric.nic", exact(changed), space.sweep);
    for (PointBound& bound : space.bounds) bound.step_s = bound.judged_s;
    SweepStore store(stored_plan(space));
    return changed_search(space, points_up_to(1), store,
                          fmt::format("NICs a tenth slower ({} in place of {})", human(changed), human(nic)));
  }

  [[nodiscard]] std::optional<PlanChange> less_memory(double share) const {
    const PlanSpace& space = answer_.space;
    SweepStore store(stored_plan(space));
    for (const SweepRow& row : answer_.result.rows) store.add(row, {});
    const double most = share * (1 - space.request.settings.memory_headroom);
    return changed_search(space, points_up_to(most), store, "GPUs with a tenth less memory");
  }

private:
  static void set_for_all(const std::string& key, const std::string& value, Sweep& sweep) {
    const auto place = static_cast<std::size_t>(std::ranges::find(sweep.keys, key) - sweep.keys.begin());
    if (place == sweep.keys.size()) {
      sweep.set.emplace_back(key, value);
    } else {
      for (PointValues& values : sweep.points) values[place] = value;
    }
  }

  /// Points of the best one's group that take at most this share of the memory.
  [[nodiscard]] std::vector<std::size_t> points_up_to(double memory) const {
    const std::vector<PointBound>& bounds = answer_.space.bounds;
    std::vector<std::size_t> points = all_points(answer_.space);
    std::erase_if(points, [&](std::size_t point) {
      return bounds[point].group != bounds[best_].group || bounds[point].memory > memory;
    });
    return points;
  }

  /// Nothing if it was interrupted.
  [[nodiscard]] std::optional<PlanChange> changed_search(const PlanSpace& space,
                                                         const std::vector<std::size_t>& points,
                                                         SweepStore& store, std::string what) const {
    PlanChange change{.change = std::move(what)};
    PlanOutcome outcome = search_plan(catalogue_, space, points, store, run_);
    if (outcome.is_interrupted) return std::nullopt;
    if (!outcome.broken.empty()) throw std::runtime_error(outcome.broken.front());
    const GroupSearch& search = outcome.searches[space.bounds[best_].group];
    if (!search.best) return change;
    change.layout = space.layouts[*search.best];
    change.is_same = *search.best == best_;
    const auto row = std::ranges::find(outcome.result.rows, *search.best, &SweepRow::point);
    change.step_s = figure(outcome.result, *row, "step_time_s").value();
    return change;
  }

  const config::Catalogue& catalogue_;
  const PlanAnswer& answer_;
  PlanRun run_;
  std::size_t best_;  ///< point
};

}  // namespace

StoredSweep stored_plan(const PlanSpace& space) {
  StoredSweep stored = stored_sweep(space.sweep);
  stored.figures = figures_of_plan(space);
  return stored;
}

PlanOutcome search_plan(const config::Catalogue& catalogue, const PlanSpace& space,
                        std::span<const std::size_t> points, SweepStore& store, const PlanRun& run) {
  return Search(catalogue, space, points, store, run).outcome();
}

std::vector<PlanChange> plan_changes(const config::Catalogue& catalogue, const PlanAnswer& answer,
                                     const PlanRun& run) {
  constexpr double less = 0.9;
  const PlanSpace& space = answer.space;
  const std::size_t point = answer.result.rows[*answer.best].point;
  const Changes changes(catalogue, answer, run);
  std::vector<PlanChange> made;
  const auto add = [&](std::optional<PlanChange> change) {
    if (!change) return false;
    made.push_back(*std::move(change));
    return true;
  };
  InputFiles files;
  const ResolvedExperiment job = read_point(catalogue, space.sweep, space.sweep.points[point], files);
  if (job.cluster->nodes > 1) {
    const Bandwidth nic = job.platform.fabric.nic.value;
    if (!add(changes.slower_nics(nic, less * nic))) return made;
  }
  add(changes.less_memory(less));
  return made;
}

}  // namespace trainyard
