#include "sweep/point_figures.hpp"

#include "run/simulate.hpp"
#include "units/ids.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard {

namespace {

const SimulateOptions how{.timeline = false, .rows = false};

bool is_of_faults(const std::string& key) { return key == "faults" || key.starts_with("faults."); }

}  // namespace

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
  Run run = simulate(std::move(resolved), how);
  if (complete) complete(run);
  return sweep_row(run, parts_of_points(sweep));
}

PointSimulator::PointSimulator(const Sweep& sweep) : sweep_(sweep) {
  varies_faults_ = std::ranges::any_of(sweep.keys, is_of_faults);
  if (!varies_faults_) return;
  std::map<PointValues, int> kinds;
  for (const PointValues& values : sweep.points) {
    PointValues others;
    for (std::size_t key = 0; key < values.size(); ++key)
      if (!is_of_faults(sweep.keys[key])) others.push_back(values[key]);
    kind_of_point_.push_back(kinds.emplace(std::move(others), static_cast<int>(kinds.size())).first->second);
  }
}

std::function<int(int)> PointSimulator::kinds() {
  if (!varies_faults_) return {};
  return [this](int point) { return kind_of_point_[at(point)]; };
}

std::vector<std::optional<double>> PointSimulator::figures(std::size_t point, ResolvedExperiment resolved,
                                                           const std::function<void(Run&)>& complete) {
  if (!varies_faults_) return simulated_figures(sweep_, std::move(resolved), complete);
  const int kind = kind_of_point_[point];
  if (!steps_ || kind != kind_) {
    steps_.reset();
    steps_ = simulate_steps(std::move(resolved), how);
    kind_ = kind;
  } else {
    steps_->experiment.settings.faults = std::move(resolved.settings.faults);
  }
  const Known<ExpectedError> error = steps_->expected_error;  // which `complete` may widen
  const std::size_t notes = steps_->notes.size();
  steps_->faults.reset();
  steps_->job.reset();
  add_job(*steps_);
  if (complete) complete(*steps_);
  std::vector<std::optional<double>> row = sweep_row(*steps_, parts_of_points(sweep_));
  steps_->expected_error = error;
  steps_->notes.resize(notes);
  return row;
}

StoredSweep stored_sweep(const Sweep& sweep) {
  return {.sweep = sweep, .figures = figures_of_points(sweep), .version = version()};
}

}  // namespace trainyard
