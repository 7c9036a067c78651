#include "sweep/assumed_points.hpp"

#include "experiment/keys_meant.hpp"
#include "explain/assumed_inputs.hpp"
#include "run/simulate.hpp"
#include "sweep/read_point.hpp"

namespace trainyard {

void AssumedOfPoints::widen(std::size_t point, Run& run) {
  if (sweep_.points.size() <= most_points_with_own_assumed) {
    add_own(point, run);
    return;
  }
  if (!common_) common_ = common_of_first();
  if (common_->inputs) widen_by(*common_->inputs, common_->throughput, run);
}

void AssumedOfPoints::add_own(std::size_t point, Run& run) {
  const PointSource source = source_of_point(catalogue_, sweep_, sweep_.points[point], files_);
  const Overrides overrides = without_totals(catalogue_, source.experiment, source.overrides, files_);
  add_assumed_inputs(catalogue_, source.experiment, overrides, run, files_);
}

AssumedOfPoints::Common AssumedOfPoints::common_of_first() {
  for (std::size_t point = 0; point < sweep_.points.size(); ++point) {
    try {
      Run run = simulate(read_point(catalogue_, sweep_, sweep_.points[point], files_),
                         {.timeline = false, .rows = false});
      add_own(point, run);
      return {.inputs = run.assumed, .throughput = run.pace.throughput};
    } catch (const InputError&) {
    } catch (const JobImpossible&) {
    }
  }
  return {};
}

}  // namespace trainyard
