#include "sweep/point_figures.hpp"

#include "run/simulate.hpp"
#include "units/version.hpp"

#include <utility>

namespace trainyard {

SweepOf parts_of_points(const Sweep& sweep) {
  return {.has_jobs = sweep.is_of_jobs,
          .has_targets = sweep.is_of_targets,
          .has_learning = sweep.has_learning,
          .has_accuracy = sweep.has_accuracy};
}

std::vector<std::string> figures_of_points(const Sweep& sweep) {
  return sweep_columns(parts_of_points(sweep));
}

std::vector<std::optional<double>> simulated_figures(const Sweep& sweep, ResolvedExperiment resolved,
                                                     const std::function<void(Run&)>& complete) {
  Run run = simulate(std::move(resolved), {.timeline = false, .rows = false});
  if (complete) complete(run);
  return sweep_row(run, parts_of_points(sweep));
}

StoredSweep stored_sweep(const Sweep& sweep) {
  return {.sweep = sweep, .figures = figures_of_points(sweep), .version = version()};
}

}  // namespace trainyard
