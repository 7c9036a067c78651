#include "accuracy/run_change.hpp"

namespace trainyard {

std::vector<RunChange> changes_between(const Circumstances& a, const Circumstances& b) {
  std::vector<RunChange> changes;
  const auto add = [&](RunChange change, bool differs) {
    if (differs) changes.push_back(change);
  };
  const SoftwareUse& x = a.use;
  const SoftwareUse& y = b.use;
  add(RunChange::gpus, a.gpus != b.gpus || a.nodes != b.nodes);
  add(RunChange::batch, a.batch_per_gpu != b.batch_per_gpu);
  add(RunChange::precision, x.precision != y.precision || a.has_fp8 != b.has_fp8);
  add(RunChange::software, x.framework != y.framework || x.stack != y.stack);
  add(RunChange::model, x.model != y.model);
  add(RunChange::machine, a.platform != b.platform || x.gpu != y.gpu || x.generation != y.generation);
  return changes;
}

std::string_view words_of(RunChange change) {
  const auto row =
      std::ranges::find(config::Names<RunChange>::table, change, &config::Name<RunChange>::value);
  return row->doc;
}

}  // namespace trainyard
