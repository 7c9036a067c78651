#include "plan/run_plan.hpp"

#include "sweep/point_figures.hpp"
#include "sweep/read_point.hpp"
#include "sweep/run_sweep.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <utility>

namespace trainyard {

namespace {

/// The search of one plan.
class Search {
public:
  Search(const config::Catalogue& catalogue, const PlanSpace& space, SweepStore& store, const PlanRun& run)
      : catalogue_(catalogue), space_(space), store_(store), run_(run), search_(space) {}

  PlanOutcome outcome() {
    for (SweepRow& row : store_.rows()) finished_.emplace(row.point, std::move(row));
    PlanOutcome outcome;
    outcome.result = {.sweep = space_.sweep, .figures = figures_of_points(space_.sweep), .rows = {}};
    for (std::vector<std::size_t> wave = search_.next_wave(); !wave.empty(); wave = search_.next_wave()) {
      simulate_wave(wave, outcome);
      for (const std::size_t point : wave) {
        const auto row = finished_.find(point);
        if (row == finished_.end()) continue;
        search_.add(outcome.result, row->second);
        outcome.result.rows.push_back(row->second);
      }
      if (outcome.is_interrupted || !outcome.broken.empty()) break;
    }
    search_.stop();
    std::ranges::sort(outcome.result.rows, {}, &SweepRow::point);
    outcome.searches = search_.groups();
    return outcome;
  }

private:
  void simulate_wave(const std::vector<std::size_t>& wave, PlanOutcome& outcome) {
    std::vector<std::size_t> left;
    for (const std::size_t point : wave) {
      if (!finished_.contains(point)) left.push_back(point);
    }
    if (left.empty()) return;
    SweepRun run{
        .parallel = run_.parallel,
        .figures =
            [&](ResolvedExperiment resolved) { return simulated_figures(space_.sweep, std::move(resolved)); },
        .done =
            [&](const SweepRow& row, const std::vector<std::string>& files) {
              store_.add(row, files);
              finished_.emplace(row.point, row);
            },
        .is_interrupted = run_.is_interrupted};
    SweepOutcome ended = run_points(catalogue_, space_.sweep, left, run);
    outcome.is_interrupted = ended.is_interrupted;
    for (std::string& point : ended.broken) outcome.broken.push_back(std::move(point));
  }

  const config::Catalogue& catalogue_;
  const PlanSpace& space_;
  SweepStore& store_;
  const PlanRun& run_;
  PlanSearch search_;
  std::map<std::size_t, SweepRow> finished_;  ///< by point
};

/// The request for the group of one point alone.
PlanRequest of_group(const PlanSpace& space, std::size_t group) {
  PlanRequest request = space.request;
  const PlanGroup& its = space.groups[group];
  request.settings.gpus = std::to_string(its.gpus);
  for (std::size_t i = 0; i + 1 < space.group_keys.size(); ++i) {
    const std::string& key = space.group_keys[i];
    std::erase_if(request.settings.over, [&](const auto& entry) { return entry.first == key; });
    request.set.emplace_back(key, its.values[i]);
  }
  return request;
}

PlanChange changed(const config::Catalogue& catalogue, PlanRequest request, std::string what,
                   const PlanLayout& best, int parallel) {
  PlanChange change{.change = std::move(what)};
  try {
    InputFiles files;
    const PlanSpace space = plan_space(catalogue, std::move(request), files, parallel);
    SweepStore store(stored_sweep(space.sweep));
    PlanOutcome outcome = search_plan(catalogue, space, store, {.parallel = parallel});
    if (!outcome.broken.empty()) throw std::runtime_error(outcome.broken.front());
    const GroupSearch& search = outcome.searches.front();
    if (!search.best) return change;
    change.layout = space.layouts[*search.best];
    change.is_same = layout_values(space.axes, *change.layout) == layout_values(space.axes, best);
    const auto row = std::ranges::find(outcome.result.rows, *search.best, &SweepRow::point);
    change.step_s = figure(outcome.result, *row, "step_time_s").value();
  } catch (const InputError&) {  // no such machine
    return change;
  } catch (const JobImpossible&) {
    return change;
  }
  return change;
}

}  // namespace

PlanOutcome search_plan(const config::Catalogue& catalogue, const PlanSpace& space, SweepStore& store,
                        const PlanRun& run) {
  return Search(catalogue, space, store, run).outcome();
}

std::vector<PlanChange> plan_changes(const config::Catalogue& catalogue, const PlanAnswer& answer,
                                     int parallel) {
  constexpr double less = 0.9;
  const PlanSpace& space = answer.space;
  const std::size_t point = answer.result.rows[*answer.best].point;
  const PlanLayout& best = space.layouts[point];
  const PlanRequest request = of_group(space, space.bounds[point].group);
  std::vector<PlanChange> changes;
  InputFiles files;
  const ResolvedExperiment job = read_point(catalogue, space.sweep, space.sweep.points[point], files);
  if (job.cluster->nodes > 1) {
    const Bandwidth nic = job.platform.fabric.nic.value;
    PlanRequest slower = request;
    slower.set.emplace_back("platform.fabric.nic", exact(less * nic));
    changes.push_back(
        changed(catalogue, std::move(slower),
                fmt::format("NICs a tenth slower ({} in place of {})", human(less * nic), human(nic)), best,
                parallel));
  }
  PlanRequest smaller = request;
  smaller.settings.memory_headroom = 1 - less * (1 - smaller.settings.memory_headroom);
  changes.push_back(changed(catalogue, std::move(smaller), "GPUs with a tenth less memory", best, parallel));
  return changes;
}

}  // namespace trainyard
