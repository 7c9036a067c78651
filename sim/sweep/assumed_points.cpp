#include "sweep/assumed_points.hpp"

#include "experiment/keys_meant.hpp"
#include "explain/assumed_inputs.hpp"
#include "run/simulate.hpp"
#include "sweep/read_point.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace trainyard {

void AssumedOfPoints::widen(std::size_t point, Run& run) {
  if (sweep_.points.size() <= most_points_with_own_assumed || !has_closed_steps(run.experiment)) {
    add_own(point, run);
    return;
  }
  const std::string group = likeness(point);
  auto known = common_.find(group);
  if (known == common_.end()) known = common_.emplace(group, common_of(group)).first;
  if (known->second.inputs) widen_by(*known->second.inputs, known->second.throughput, run);
}

namespace {

/// Whether effects of assumed inputs depend much on the key: the machine and its parts, its numbers, the
/// model.
bool is_decisive(std::string_view key) {
  constexpr std::array<std::string_view, 7> keys{experiment_key,  "nodes", "gpus", "ranks",
                                                 "gpus_per_node", "model", "stack"};
  return std::ranges::find(keys, key) != keys.end() || key.starts_with("platform") || key.starts_with("gpu.");
}

}  // namespace

/// The point's values of decisive keys.
std::string AssumedOfPoints::likeness(std::size_t point) const {
  std::string text;
  for (std::size_t i = 0; i < sweep_.keys.size(); ++i) {
    if (is_decisive(sweep_.keys[i])) text += sweep_.points[point][i] + '\n';
  }
  return text;
}

void AssumedOfPoints::add_own(std::size_t point, Run& run) {
  const PointSource source = source_of_point(catalogue_, sweep_, sweep_.points[point], files_);
  const Overrides overrides = without_totals(catalogue_, source.experiment, source.overrides, files_);
  add_assumed_inputs(catalogue_, source.experiment, overrides, run, files_);
}

AssumedOfPoints::Common AssumedOfPoints::common_of(const std::string& likeness) {
  for (std::size_t point = 0; point < sweep_.points.size(); ++point) {
    if (this->likeness(point) != likeness) continue;
    try {
      ResolvedExperiment resolved = read_point(catalogue_, sweep_, sweep_.points[point], files_);
      if (!has_closed_steps(resolved)) return {};
      // Effects are those of closed forms; and SimGrid runs once in a process, for the point itself.
      Run run = simulate(std::move(resolved),
                         {.fidelity = Fidelity::closed, .timeline = false, .rows = false, .learn = false});
      add_own(point, run);
      return {.inputs = run.assumed, .throughput = run.pace.throughput};
    } catch (const InputError&) {
    } catch (const JobImpossible&) {
    }
  }
  return {};
}

}  // namespace trainyard
